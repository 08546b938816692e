"""`lathe estimate` and `lathe plan` for a GPU that isn't there: what fits, what it costs, and how past predictions did."""

import json
import sqlite3

import support

GIB = 1 << 30
CARD = "GeForce RTX 5080"
SMALL_STATES = ["--set", "optimizer.state=8bit", "--set", "precision.master=split"]


class Planning(support.WorkplaceTest):
    def plan(self, *words, code=0):
        return self.place.json("plan", "--preset", "977m", "--gpu", CARD, *words, code=code)

    def test_Plan_FallingBudgets_FitAndSpendMore(self):
        slower, spent = float("inf"), -1.0
        for budget in (24, 15, 13, 12):
            plan = self.plan("--vram", f"{budget}GiB", *SMALL_STATES)
            best = plan["ranked"][0]
            self.assertLessEqual(best["process_bytes"], budget * GIB)
            self.assertLessEqual(best["tokens_per_s"], slower)
            self.assertGreaterEqual(best["spent_share"], spent)
            self.assertFalse(plan["calibrated"])
            slower, spent = best["tokens_per_s"], best["spent_share"]
            for other in plan["ranked"]:
                self.assertLessEqual(other["tokens_per_s"], best["tokens_per_s"])
            # What is said to fit does, as `estimate` sees it, to the byte.
            estimate = self.place.json("estimate", "--preset", "977m", "--gpu", CARD, "--vram", f"{budget}GiB", *SMALL_STATES,
                                       "--set", f"memory.recompute={best['recompute']}", "--set", f"memory.loss_chunk_tokens={best['loss_chunk_tokens']}")
            self.assertEqual(estimate["process_bytes"], best["process_bytes"])
            self.assertAlmostEqual(estimate["predicted"]["tokens_per_s"], best["tokens_per_s"], delta=1e-6 * best["tokens_per_s"])
        # The byte before the next step's budget buys nothing, that budget does.
        tight = self.plan("--vram", "13GiB", *SMALL_STATES)
        bytes_for_next = tight["next"]["budget_bytes"]
        less, enough = self.plan("--vram", bytes_for_next - 1, *SMALL_STATES), self.plan("--vram", bytes_for_next, *SMALL_STATES)
        self.assertEqual(less["ranked"][0]["words"], tight["ranked"][0]["words"])
        self.assertEqual(enough["ranked"][0]["words"], tight["next"]["words"])

    def test_Plan_NothingFits_NamesChangesThatDo(self):
        error = self.plan("--vram", "15GiB", code=2)["error"]
        advice = error["what_to_do"] if isinstance(error, dict) else json.dumps(error)
        self.assertIn("optimizer.state=8bit", advice)
        words = [word for part in advice.split() if "=" in part for word in ("--set", part)]
        self.assertLessEqual(self.plan("--vram", "15GiB", *words)["ranked"][0]["process_bytes"], 15 * GIB)

    def test_Estimate_ShowsItsReasons(self):
        words = ["estimate", "--preset", "977m", "--gpu", "5080", "--set", "memory.recompute=block", "--set", "optimizer.state=8bit"]
        predicted = self.place.json(*words)["predicted"]
        self.assertFalse(predicted["calibrated"])
        self.assertAlmostEqual(sum(kind["s"] for kind in predicted["by_kind"]), predicted["update_s"], delta=1e-9)
        self.assertIn("published", predicted["rates"]["source"])
        # A PyTorch user's own figure for this work on this card: 8,000 to 9,000.
        self.assertTrue(7000 < predicted["tokens_per_s"] < 10000, predicted["tokens_per_s"])
        text = self.place.run(*words)
        self.assertIn("uncalibrated", text)
        self.assertIn("linear (recomputed)", text)

    def test_Estimate_SaysHowFarOffPastRunsWere(self):
        data = self.place.dataset("past")
        run = self.place.train({**support.SMALL_MODEL, "run.updates": 12}, data)
        words = ["estimate", "--preset", "977m", "--gpu", CARD, *SMALL_STATES]
        self.assertIsNone(self.place.json(*words)["past_predictions"]["speed"])
        database = sqlite3.connect(self.place.home / "history.db")
        with database:  # as if it had run on that card
            database.execute("UPDATE run SET device = ?, predicted_tokens_per_s = 1000, tokens_per_s = 1020, "
                             "planned_peak_bytes = 1000, measured_peak_bytes = 995 WHERE id = ?", (f"NVIDIA {CARD} (cuda, 16.0 GiB)", run))
        database.close()
        past = self.place.json(*words)["past_predictions"]
        self.assertEqual(past["speed"]["runs"], 1)
        self.assertAlmostEqual(past["speed"]["median"], 0.02)
        self.assertAlmostEqual(past["peak"]["worst"], -0.005)
        self.assertIn("tokens/s +2.0% in the median of 1 run", self.place.run(*words))


if __name__ == "__main__":
    support.main()
