"""What the servers of the held-out requests have before the first request.

Each file is written by the environment of the server that reads it.
"""

import pathlib
import subprocess

SCRIPTS = {
    "duckdb": """
import duckdb, sys
db = duckdb.connect(sys.argv[1] + "/shop.duckdb")
db.execute("create table orders(id integer, item text, price double)")
db.execute("insert into orders values (1, 'tea', 3.5), (2, 'milk', 1.2)")
db.execute("create table customers(id integer, name text)")
db.execute("insert into customers values (1, 'Ada')")
""",
    "pdf": """
import pypdf, sys
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject
name, book = NameObject, pypdf.PdfWriter()
kind = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
font = DictionaryObject({name(key): name(value) for key, value in kind.items()})
fonts = DictionaryObject({name("/Font"): DictionaryObject({name("/F"): font})})
for text in ["Fill the kettle.", "Clean it with vinegar.", "The warranty ends after two years."]:
    page, stream = book.add_blank_page(612, 792), DecodedStreamObject()
    stream.set_data(f"BT /F 12 Tf 72 700 Td ({text}) Tj ET".encode())
    page[name("/Contents")], page[name("/Resources")] = book._add_object(stream), fonts
for number, title in enumerate(["Brewing", "Cleaning", "Rights"]): book.add_outline_item(title, page_number=number)
book.add_metadata({"/Title": "Manual", "/Author": "Ada"})
book.write(sys.argv[1] + "/docs/manual.pdf")
""",
    "powerpoint": """
import pptx, sys
deck = pptx.Presentation()
for title in ["Tea for all", "Prices"]:
    deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.text = title
deck.save(sys.argv[1] + "/docs/deck.pptx")
""",
    "word": """
import docx, sys
letter = docx.Document()
letter.core_properties.author = "Babbage"
letter.add_heading("Offer", 1)
for text in ["Dear Ada,", "we offer tea for five pounds."]: letter.add_paragraph(text)
letter.add_heading("Terms", 1)
letter.add_paragraph("Payment is due in May.")
letter.save(sys.argv[1] + "/docs/letter.docx")
""",
}


def write_files(root, found):
    """A program, and for each of the servers found, its document or database."""
    shop = root / "shop"
    shop.mkdir()
    program = "import json\n\n\ndef total(price):\n    return json.dumps(price * 2)\n"
    (shop / "app.py").write_text(program)
    (root / "docs").mkdir()
    for name in SCRIPTS.keys() & found.keys():
        python = pathlib.Path(found[name][0]).parent / "python"
        subprocess.run([python, "-c", SCRIPTS[name], root], check=True)


def prepare(call, found, places):
    """Calls that give the servers with a state of their own something to find."""
    calls = [("treesitter__register_project_tool", {"path": places["{C}"], "name": "shop"})]
    calls.append(("powerpoint__open_presentation", {"file_path": places["{D}"] + "/deck.pptx"}))
    for task in [{"name": "Buy milk"}, {"name": "Call Ada"}, {"name": "Pay rent", "priority": "high"}]:
        calls.append(("todo__task_create", task))
    for tool, arguments in calls:
        if tool.split("__")[0] in found:
            call(tool, arguments)
