/** What of the simulation belongs to every test run: how many histories, and which mutants, each within so many. */

export const SHORT = { seed: 1, histories: 50_000 };

/** One for each invariant that a mutant can break, of those that die soon. */
export const SHORT_MUTANTS = {
  seed: 1,
  most: 1_000,
  names: [
    "an unknown outcome runs again",
    "a lapsed lease frees the key",
    "a lost connection frees the key",
    "any 5xx means that nothing was done",
    "a probe's word is as good as a seal",
    "a redirect is followed",
    "evidence needs no mac",
    "tokens start again after a purge",
    "a replay does not look at the fingerprint",
    "a replay carries the first caller's cookies",
    "the answer is given before it is stored",
    "a reply leaves before the record is written",
    "a cut answer counts as whole",
    "time ends an unknown outcome",
    "quarantine is skipped",
    "an expired answer is given",
    "no alarm is armed while the outcome is unknown",
    "no alarm is armed after one has rung",
    "a record of a later build is read as one of this",
    "a record's time follows a clock that is turned back",
    "a lease is renewed without limit",
    "a purge forgets what is not delivered",
    "a repeated delivery is taken twice",
    "a checkpoint is shown before what it covers",
    "a log line holds the client's key",
    "one operator is enough",
    "a repeated call runs beside its twin",
    "another request is told that its twin still runs",
    "the origin's host is taken from a field of the request",
    "a new key is counted after it was granted",
    "bodies are deleted without a word",
    "lines that are published are kept all the same",
  ],
};
