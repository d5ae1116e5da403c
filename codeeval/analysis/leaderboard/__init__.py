"""Leaderboards: many models on one benchmark, and how two boards differ.

reading.py   leaderboard: from run directories, BigCodeBench's files, results or a published results.json
board.py     Leaderboard: scores, solve rates, domains, ratings, against another board; shown and exported
ratings.py   RatedModels: Bradley-Terry ratings with the models' names
"""

from codeeval.analysis.leaderboard.board import Change, Leaderboard, Solved, Standing
from codeeval.analysis.leaderboard.ratings import RatedModels, Rating
from codeeval.analysis.leaderboard.reading import leaderboard

__all__ = ["Change", "Leaderboard", "RatedModels", "Rating", "Solved", "Standing", "leaderboard"]
