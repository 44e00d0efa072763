"""flower-superlink for pages of another origin: python superlink_with_cors.py https://school.example --insecure …"""
import sys

from flwr.superlink import main
from flwr.superlink.cli.flower_superlink import flower_superlink
from starlette.middleware.cors import CORSMiddleware

origin = sys.argv.pop(1)
create_app = main.create_app
main.create_app = lambda *args: CORSMiddleware(
    create_app(*args), allow_origins=[origin], allow_methods=["POST"], allow_headers=["*"]
)
flower_superlink()
