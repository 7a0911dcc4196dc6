"""The wizard: one question a page, from where the data lives to the start.

What is right, what is wrong and what it makes is decided in `app.draft.draft`; the pages here show and fill
its fields. The shell (`ui.wizard.wizard`) derives its buttons from the flow alone.
"""
