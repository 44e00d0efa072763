"""Writes table.json: awkward tables, and what pandas (3.1.1) and scikit-learn (1.9.1) make of them:
`python3 make_table.py` where both are installed.

`read` are the options of pandas.read_csv that say what readTable guesses. Numbers go through SimpleImputer, whose mean
and variance StandardScaler takes; texts and booleans of `categories` through OneHotEncoder, in which a missing text is
none.
"""
import base64
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

HOUSES = "rooms,city,price\n3,Bern,500\n4.5,Genf,900\n2,Bern,450\n6,Chur,700\n"
CASES = {
    "plain": (HOUSES, {}),
    "byte order mark and CRLF": ("\ufeff" + HOUSES.replace("\n", "\r\n"), {}),
    "old Mac's ends of lines": (HOUSES.replace("\n", "\r"), {}),
    "no end of the last line": (HOUSES.strip(), {}),
    "empty lines": (HOUSES.replace("\n", "\n\n"), {}),
    "separators, ends of lines and quotes in quotes": (
        'a,"the ""kind"", said",price\n1,"x, y",3\n2,"two\r\nlines",4\n3,"say ""no""",5\n4,"x, y",6\n', {}),
    "a quote within a cell": ('a,kind,price\n1,5" pipe,3\n2,6" pipe,4\n', {}),
    "spaces around cells": ('a, "kind" , price\n 1 , "x" ,3\n2,"y, z", 4 \n', {"skipinitialspace": True}),
    "tabs": (HOUSES.replace(",", "\t"), {"sep": "\t"}),
    "bars": (HOUSES.replace(",", "|"), {"sep": "|"}),
    "semicolons, decimal commas, thousands": (
        "m2;kind;price\n1.234,5;a;10\n987,25;b;20,5\n12.000;a;1.000.000,75\n",
        {"sep": ";", "decimal": ",", "thousands": "."}),
    "semicolons with points": ("m2;kind;price\n1.5;a;10\n2.25;b;20.5\n", {"sep": ";"}),
    "thousands in quotes": ('m2,price\n"1,234","1,234,567.5"\n12,"-1,000"\n900,7\n', {"thousands": ","}),
    "thousands by apostrophes": ("m2,price\n1'234,1'234'567.5\n12,-1'000\n900,7\n", {"thousands": "'"}),
    "forms of numbers": ("a,b,price\n1e3,.5,1\n-2.5E-3,5.,+2\n+7,-0,3\n", {}),
    "missing cells": (
        "age,cabin,ok,price\n30,A,True,1\n,B,False,2\nNA,?,,3\n40,,True,4\n?,A,FALSE,5\nnull,N/A,true,6\n",
        {"na_values": ["?"]}),
    "more texts for missing cells": ("age,price\n30,1\n-,2\nunknown,3\n41,4\n", {"na_values": ["-", "unknown"]}),
    "a column without a value": ("a,nothing,price\n1,,3\n2,,4\n", {}),
    "a single category, and a number that is always the same": ("kind,same,a,price\nx,7,1,3\nx,7,2,4\nx,7,4,5\n", {}),
    "numbers that are categories": ("zip,a,price\n8001,1,3\n3000,2,4\n12000,3,5\n8001,4,6\n",
                                    {"dtype": {"zip": "object"}}),
    "UTF-16 of a spreadsheet": (HOUSES.replace(",", "\t").replace("Genf", "Zürich"),
                                {"sep": "\t", "encoding": "utf-16"}),
    "windows-1252": (HOUSES.replace("Genf", "Zürich"), {"encoding": "cp1252"}),
    "no line of names": (HOUSES.split("\n", 1)[1], {"names": ["rooms", "city", "price"]}),
    "large numbers": ("t,price\n1700000001,1\n1700000003,2\n1700000002,4\n", {}),
    "names of the alphabet": ("k,price\nb,1\nB,2\nä,3\na,4\nZ,5\n10,6\n9,7\nx,8\n", {}),
}


def encoded(frame):
    """The columns of the inputs, one after the other."""
    columns = {"features": [], "x": [], "mean": [], "variance": []}
    for name in frame.columns.drop("price"):
        column = frame[name]
        if column.isna().all():
            continue
        is_boolean = set(column.dropna().astype(str).str.lower()) <= {"true", "false"}
        if is_boolean:
            column = column.astype(str).str.lower().map({"true": 1.0, "false": 0.0})
        if is_boolean or pd.api.types.is_numeric_dtype(column):
            x = SimpleImputer().fit_transform(column.to_numpy(float)[:, None])
            scaler = StandardScaler().fit(x)
            names, mean, variance = [name], scaler.mean_, scaler.scale_**2
        else:
            present = sorted(set(column.dropna()))
            x = OneHotEncoder(categories=[present], handle_unknown="ignore",
                              sparse_output=False).fit_transform(column.to_numpy()[:, None])
            names, mean, variance = [f"{name}={one}" for one in present], np.zeros(len(present)), np.ones(len(present))
        columns["features"] += names
        columns["x"] += x.T.tolist()
        columns["mean"] += list(mean)
        columns["variance"] += list(variance)
    return columns


def case(text, options):
    raw = text.encode(options.get("encoding", "utf-8"))
    given = {"skipinitialspace": True, "lineterminator": "\r" if "\n" not in text else None, **options}
    frame = pd.read_csv(io.BytesIO(raw), **given)
    frame.columns = frame.columns.str.strip()
    for name in options.get("dtype", {}):
        frame[name] = frame[name].astype(int).astype("category")
    for name in frame.select_dtypes("str"):
        frame[name] = frame[name].str.strip()
    return {"csv": base64.b64encode(raw).decode(), **encoded(frame), "price": frame["price"].tolist()}


cases = {name: case(*one) for name, one in CASES.items()}
(Path(__file__).resolve().parents[1] / "data/table.json").write_text(json.dumps(cases) + "\n")
