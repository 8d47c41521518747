"""Forms of tracking URIs that hold a secret: as users write them, odd ones, and wrong ones."""

from __future__ import annotations

from typing import Final

SECRET: Final = "Zq7-s3cr3t"
"""The secret of all forms; in some it is followed by characters that a URI reserves."""

SERVER: Final = "SERVER"
"""Stands for host and port of a server that answers."""

FORMS: Final = (
    ("user and password", f"http://me:{SECRET}@{SERVER}"),
    ("token as the user", f"http://{SECRET}@{SERVER}"),
    ("token, empty password", f"http://{SECRET}:@{SERVER}"),
    ("token as the password", f"http://:{SECRET}@{SERVER}/"),
    ("per cent in the password", f"http://me:{SECRET}%40%2F@{SERVER}"),
    ("secret parameter of an address", f"http://127.0.0.1:9/?api_key={SECRET}"),
    ("secret fragment", f"http://127.0.0.1:9/#{SECRET}"),
    ("nothing listens", f"http://me:{SECRET}@127.0.0.1:9"),
    ("IPv6", f"https://me:{SECRET}@[::1]:9/mlflow"),
    ("upper case", f"HTTP://me:{SECRET}@127.0.0.1:9"),
    ("slash in the password", f"http://me:{SECRET}/x@127.0.0.1:9"),
    ("password in the place of the port", f"http://host:{SECRET}"),
    ("broken IPv6", f"http://me:{SECRET}@[::1:9"),
    ("one slash", f"http:/me:{SECRET}@127.0.0.1:9"),
    ("line end", f"http://me:{SECRET}\n@127.0.0.1:9"),
    ("database", f"postgresql://me:{SECRET}@127.0.0.1:9/mlflow"),
    ("database with a driver", f"postgresql+psycopg2://me:{SECRET}@[::1]:9/mlflow?sslmode=require"),
    ("slash, question mark and colon", f"postgresql://me:{SECRET}/?:x@127.0.0.1:9/mlflow"),
    ("at sign in the password", f"postgresql://me:{SECRET}@x@127.0.0.1:9/mlflow"),
    ("slash in the user", f"postgresql://m/e:{SECRET}@127.0.0.1:9/mlflow"),
    ("password of a key", f"postgresql://me@127.0.0.1:9/mlflow?sslpassword={SECRET}"),
    ("password as a parameter", f"postgresql:///mlflow?host=127.0.0.1&user=me&password={SECRET}"),
    ("semicolon", f"mysql+pymysql://me@127.0.0.1:9/mlflow?ssl_ca=/a.pem;password={SECRET}"),
    ("driver that is not there", f"mysql+nosuch://me:{SECRET}@127.0.0.1:9/mlflow"),
    ("ODBC", f"mssql+pyodbc:///?odbc_connect=DRIVER%3D%7BX%7D%3BUID%3Dme%3BPWD%3D{SECRET}"),
    ("encrypted file", f"sqlite+pysqlcipher://:{SECRET}@/mlflow.db?cipher=aes-256-cfb"),
    ("parameter of a file", f"sqlite:///mlflow.db?key={SECRET}"),
    ("old name of a scheme", f"postgres://me:{SECRET}@127.0.0.1:9/mlflow"),
    ("unknown scheme", f"oracle+cx://me:{SECRET}@127.0.0.1:9/mlflow"),
    ("no scheme", f"me:{SECRET}@127.0.0.1:9/mlflow"),
    ("the secret alone", SECRET),
    ("Databricks", f"databricks://me:{SECRET}@host"),
)
"""What is odd about each, and the URI."""

VARIABLES: Final = (
    "AWS_SECRET_ACCESS_KEY", "AZURE_STORAGE_ACCESS_KEY", "DATABRICKS_TOKEN", "GITHUB_TOKEN",
    "HF_TOKEN", "OPENAI_API_KEY", "PGPASSWORD", "WANDB_API_KEY", "MLFLOW_S3_SECRET", "MY_PASSWORD",
)  # fmt: skip
"""Variables of the environment that hold the secret beside each form."""
