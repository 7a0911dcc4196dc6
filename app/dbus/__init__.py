"""The only importer of pydbus and gi."""
