/**
 * The storage of one Durable Object: what is durable, and what its living instance sees. A write is durable some time after it was made;
 * until then nothing that the instance says leaves it, and a crash takes both away.
 */
import { type Cursor, runStatement, type Tables } from "./shard-sql.ts";

/** `isRinging`: the alarm's handler runs. The alarm is gone for who asks then, and deleted only once the handler has ended (workerd's actor-sqlite). */
export type Image = {
  kv: ReadonlyMap<string, unknown>;
  alarm: number | null;
  isRinging: boolean;
  tables: Tables | null;
};

export const EMPTY: Image = { kv: new Map(), alarm: null, isRinging: false, tables: null };

/** What storage does beside its job. Each is told before and after, and may throw. */
export type StoreWatch = {
  /** An instance touches its storage. Throws where it is dead, or another has taken its place. */
  touch: () => void;
  /** A transaction is about to begin. Throws where storage refuses. */
  begin: () => void;
  /** A transaction has been made and is about to be committed. Throws where the instance dies here. */
  commit: () => void;
  /** What the instance sees has changed. */
  changed: (before: Image, after: Image) => void;
};

export class SimStorage {
  image: Image;
  readonly #watch: StoreWatch;
  #depth = 0;
  readonly #copies: boolean;

  /** `copies`: values are copied in and out, as the platform does; it costs more than all the rest. */
  constructor(image: Image, watch: StoreWatch, copies: boolean) {
    this.image = image;
    this.#watch = watch;
    this.#copies = copies;
  }

  readonly kv = {
    get: (key: string): unknown => {
      this.#watch.touch();
      const value = this.image.kv.get(key);
      return this.#copies ? structuredClone(value) : value;
    },
    put: (key: string, value: unknown): void => {
      const kv = new Map(this.image.kv).set(key, this.#copies ? structuredClone(value) : value);
      this.#change({ ...this.image, kv });
    },
    delete: (key: string): boolean => {
      const kv = new Map(this.image.kv);
      const isThere = kv.delete(key);
      this.#change({ ...this.image, kv });
      return isThere;
    },
  };

  readonly sql = {
    exec: (sql: string, ...values: readonly unknown[]): Cursor => {
      this.#watch.touch();
      const { cursor, tables } = runStatement(this.image.tables, sql, values);
      if (tables !== this.image.tables) this.#change({ ...this.image, tables });
      return cursor;
    },
  };

  transactionSync<Result>(act: () => Result): Result {
    this.#watch.touch();
    this.#watch.begin();
    const before = this.image;
    this.#depth += 1;
    try {
      const result = act();
      this.#depth -= 1;
      if (this.image !== before) {
        this.#watch.commit();
        this.#watch.changed(before, this.image);
      }
      return result;
    } catch (error) {
      this.#depth = 0;
      this.image = before;
      throw error;
    }
  }

  async getAlarm(): Promise<number | null> {
    this.#watch.touch();
    return this.image.isRinging ? null : this.image.alarm;
  }

  async setAlarm(at: number): Promise<void> {
    this.#change({ ...this.image, alarm: at, isRinging: false });
  }

  async deleteAll(): Promise<void> {
    this.#change(EMPTY);
  }

  #change(after: Image): void {
    this.#watch.touch();
    const before = this.image;
    this.image = after;
    if (this.#depth === 0) this.#watch.changed(before, after);
  }
}
