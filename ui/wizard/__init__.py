"""The wizard: one question per page, from the location of the data to the start.

`app.draft.draft` decides validity and builds the campaign; the pages here show and fill its fields. The shell
(`ui.wizard.wizard`) derives its buttons from the flow alone.
"""
