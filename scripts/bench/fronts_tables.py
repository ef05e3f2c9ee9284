"""Trains models of scikit-learn on a data set that `skyline prep` has made of a table.

usage: fronts_tables.py DATA.h5 classes|numbers SEED

Gradient boosting (HistGradientBoosting), and on standardized features a multilayer perceptron and a linear model (logistic or
ridge regression): with their defaults, and the best of 12 drawn settings by 3 folds of the training samples. Prints one JSON
document: for each the accuracy on the test set, or the negative mean squared error of scaled targets; its parameters (nodes of
trees); the bytes of its pickle; and seconds of CPU.
"""

import json
import pickle
import sys
import time
import warnings

DRAWS, FOLDS = 12, 3
BOOSTING = {"learning_rate": [0.03, 0.1, 0.3], "max_iter": [50, 100, 200], "max_leaf_nodes": [7, 15, 31],
            "l2_regularization": [0, 1, 10], "min_samples_leaf": [5, 20]}
PERCEPTRON = {"model__hidden_layer_sizes": [(16,), (64,), (256,), (32, 32), (128, 128)], "model__alpha": [1e-5, 1e-3, 1e-1, 1],
              "model__learning_rate_init": [1e-3, 3e-3, 1e-2], "model__activation": ["relu", "tanh"]}
PENALTIES = [10 ** (exponent / 2) for exponent in range(-6, 6)]


def parts_of(path):
    """Returns values [N, features] and targets [N] of the training samples, and those of the test samples."""
    import h5py

    with h5py.File(path) as file:
        return [(file[f"{part}/values"][:].reshape(len(file[f"{part}/targets"]), -1), file[f"{part}/targets"][:].ravel())
                for part in ("train", "test")]


def models_of(kind, seed):
    from sklearn import ensemble, linear_model, neural_network, pipeline, preprocessing

    boosting = ensemble.HistGradientBoostingClassifier if kind == "classes" else ensemble.HistGradientBoostingRegressor
    perceptron = neural_network.MLPClassifier if kind == "classes" else neural_network.MLPRegressor
    scaled = lambda model: pipeline.Pipeline([("scale", preprocessing.StandardScaler()), ("model", model)])
    linear = ((linear_model.LogisticRegression(max_iter=1000), {"model__C": PENALTIES}) if kind == "classes" else
              (linear_model.Ridge(), {"model__alpha": PENALTIES}))
    return {"gradient boosting": (boosting(random_state=seed), BOOSTING),
            "perceptron": (scaled(perceptron(max_iter=500, random_state=seed)), PERCEPTRON),
            "linear": (scaled(linear[0]), linear[1])}


def parameters_of(model):
    """Returns the weights of a perceptron or a linear model, or the nodes of all trees."""
    if hasattr(model, "_predictors"):
        return sum(len(tree.nodes) for trees in model._predictors for tree in trees)
    scaled = model.named_steps["model"]
    if hasattr(scaled, "coef_"):
        return scaled.coef_.size + scaled.intercept_.size
    return sum(array.size for array in (*scaled.coefs_, *scaled.intercepts_))


def main():
    from sklearn import metrics, model_selection

    path, kind, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    warnings.simplefilter("ignore")  # perceptrons that could train longer
    train, test = parts_of(path)
    score, scoring = ((metrics.accuracy_score, "accuracy") if kind == "classes" else
                      (lambda truth, said: -metrics.mean_squared_error(truth, said), "neg_mean_squared_error"))
    found = {}
    for name, (model, choices) in models_of(kind, seed).items():
        tuned = model_selection.RandomizedSearchCV(model, choices, n_iter=DRAWS, cv=FOLDS, scoring=scoring, random_state=seed)
        for label, one in ((name, model), (f"{name}, tuned", tuned)):
            begin = time.process_time()
            one.fit(*train)
            fitted = getattr(one, "best_estimator_", one)
            found[label] = {"test": float(score(test[1], one.predict(test[0]))), "parameters": parameters_of(fitted),
                            "bytes": len(pickle.dumps(fitted)), "cpu_s": round(time.process_time() - begin, 2)}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
