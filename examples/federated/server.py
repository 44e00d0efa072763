"""Averages what pages learn: FedAvg, FedProx, and central differential privacy where `noise` is above 0.

The result is a file of safetensors; the metrics of each round are in a JSON file beside it.
"""
import json
from pathlib import Path

from flwr.app import Array, ArrayRecord, ConfigRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg
from safetensors.numpy import load_file, save_file

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    nodes = config["nodes"]
    initial = load_file(config["initial"])
    arrays = ArrayRecord({name: Array(values) for name, values in initial.items()})
    strategy = FedAvg(min_train_nodes=nodes, min_evaluate_nodes=nodes, min_available_nodes=nodes)
    if config["noise"] > 0:
        strategy = DifferentialPrivacyServerSideFixedClipping(
            strategy, config["noise"], config["clipping-norm"], num_sampled_clients=nodes
        )
    asked = {"epochs": config["epochs"]}
    asked |= {name: config[name] for name in ("lr", "proximal-mu") if config[name] > 0}
    result = strategy.start(
        grid=grid,
        initial_arrays=arrays,
        num_rounds=config["rounds"],
        timeout=config["timeout"],
        train_config=ConfigRecord(asked),
    )
    save_file({name: array.numpy() for name, array in result.arrays.items()}, config["result"])
    rounds = {"train": result.train_metrics_clientapp, "evaluate": result.evaluate_metrics_clientapp}
    told = {kind: {number: dict(record) for number, record in of.items()} for kind, of in rounds.items()}
    Path(config["result"] + ".json").write_text(json.dumps(told, indent=1))
