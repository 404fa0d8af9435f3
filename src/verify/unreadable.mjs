// @ts-check
/** The source of a ledger can't be read: nothing can be said about what is in it. The message is for the user. */
export class Unreadable extends Error {
  /** @override */
  name = "Unreadable";
}
