/**
 * The least and the most of every setting, each with its reason. Durations are milliseconds, sizes are bytes,
 * lengths are characters. What must hold between them is asserted at the end; what must hold between two
 * settings of one deployment (origin_timeout and max_execution, say) is checked when the settings are read.
 */

/** Both ends are allowed. */
export type Range = { readonly min: number; readonly max: number };

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const KIB = 1_024;
export const MIB = 1_024 * KIB;

/**
 * Under a second a retry would find nothing left to replay; a month is longer than any client goes on
 * retrying.
 */
export const WINDOW_MS: Range = { min: SECOND, max: 30 * DAY };

/**
 * 0 is for owners who accept that a late retry counts as new; no quarantine needs to outlast the longest
 * window.
 */
export const QUARANTINE_MS: Range = { min: 0, max: 30 * DAY };

/**
 * 15 minutes: for that long, and no longer, the platform keeps an object in memory for work whose client has
 * gone. Source: Cloudflare docs, Workers compatibility flags, durable_object_io_tasks_prevent_eviction
 * (October 2026).
 */
export const EXECUTION_MS: Range = { min: 10, max: 15 * MINUTE };

/** The origin's answer is part of the execution, so it can't be given more time than that. */
export const ORIGIN_TIMEOUT_MS: Range = { min: 10, max: 15 * MINUTE };

/** A waiting duplicate occupies a connection; most clients and proxies give up after a minute. */
export const WAIT_MS: Range = { min: 0, max: MINUTE };

/**
 * An effect that can still appear a day after it was sent is no longer a delay but a queue; probing can't
 * settle it.
 */
export const ORIGIN_DELAY_MS: Range = { min: 0, max: DAY };

/** A day is the least in which somebody could have looked; it also refuses `90s` written for `90d`. */
export const RETENTION_MS: Range = { min: DAY, max: 3_650 * DAY };

/** An isolate has 128 MiB for all its requests. Source: Cloudflare docs, Workers limits (September 2026). */
export const ISOLATE_BYTES = 128 * MIB;

/**
 * A request is held twice while it is read (pieces, then the whole) and must leave room for other requests.
 */
export const REQUEST_BYTES: Range = { min: 1, max: 16 * MIB };

/** An answer is held up to three times while it is kept: as read, sealed, and in the pieces being written. */
export const RESPONSE_BYTES: Range = { min: 1, max: 32 * MIB };

/** 255 is what the clients of this field generate at most (Stripe documents 255). */
export const KEY_LENGTH: Range = { min: 1, max: 255 };

/** Variables are at most 5 KB each on the platform, so longer lists than these can't be meant. */
export const ROUTES: Range = { min: 1, max: 100 };
export const CORS_ORIGINS: Range = { min: 0, max: 100 };
export const HEADER_NAMES: Range = { min: 1, max: 8 };
export const COUNTED_HEADERS: Range = { min: 0, max: 16 };
export const CLAIMS: Range = { min: 1, max: 8 };
export const POINTERS: Range = { min: 0, max: 32 };
export const RELEASE_STATUSES: Range = { min: 0, max: 64 };
export const OPERATORS: Range = { min: 0, max: 100 };
export const OLDER_SEALING_KEYS: Range = { min: 0, max: 16 };

/** A header or cookie name, a claim, a URL, a pattern: far above what occurs, far below what would hurt. */
export const NAME_LENGTH: Range = { min: 1, max: 64 };
export const TEXT_LENGTH: Range = { min: 1, max: 512 };
export const POINTER_LENGTH: Range = { min: 1, max: 256 };
export const ID_LENGTH: Range = { min: 1, max: 64 };
export const LEDGER_NAME_LENGTH: Range = { min: 1, max: 128 };

/**
 * One object takes some hundred entries a second; 1,024 shards are beyond what one D1 database can be given.
 */
export const LEDGER_SHARDS: Range = { min: 1, max: 1_024 };

/** More than five people for one resolution means that it never happens. */
export const OPERATORS_REQUIRED: Range = { min: 1, max: 5 };

/** The upper end is above what one principal's requests could reach; it refuses a slip of the hand. */
export const NEW_KEYS_PER_MINUTE: Range = { min: 1, max: 1_000_000 };

/** Error statuses; every other status is an answer and is kept. */
export const RELEASE_STATUS: Range = { min: 400, max: 599 };

/**
 * Statuses that the path to the origin makes when it doesn't know what the origin did, so nobody can assert
 * that they are free of effects. Source: RFC 9110 sections 15.6.3 and 15.6.5; Cloudflare docs, 5xx errors
 * (520 to 527, 530).
 */
export const PATH_STATUSES: readonly number[] = [502, 504, 520, 521, 522, 523, 524, 525, 526, 527, 530];

/** AES-256 and HMAC-SHA-256 keys of full strength. */
export const OWN_KEY_BYTES = 32;

/** A shared key: at least 128 bits; beyond 256 bytes it is some other thing pasted by mistake. */
export const SHARED_KEY_BYTES: Range = { min: 16, max: 256 };

/** An HMAC key held as text: as many characters as the digest has bytes. Source: RFC 7518 section 3.2. */
export const JWT_SECRET_LENGTH_MIN = 32;

function assertRelation(holds: boolean, relation: string): void {
  if (!holds) throw new Error(`bounds: ${relation}`);
}

assertRelation(
  ORIGIN_TIMEOUT_MS.max <= EXECUTION_MS.max,
  "the longest origin timeout fits the longest execution",
);
assertRelation(
  ORIGIN_TIMEOUT_MS.min >= EXECUTION_MS.min,
  "the shortest execution has a timeout that fits it",
);
assertRelation(WAIT_MS.max < EXECUTION_MS.max, "a wait ends before the execution it waits for must");
assertRelation(
  3 * RESPONSE_BYTES.max + 2 * REQUEST_BYTES.max <= ISOLATE_BYTES,
  "one exchange fits an isolate",
);
assertRelation(ORIGIN_DELAY_MS.max <= QUARANTINE_MS.max, "a quarantine can outlast every origin delay");
assertRelation(KEY_LENGTH.min >= 1, "an empty key is no key");
assertRelation(
  PATH_STATUSES.every((status) => status >= RELEASE_STATUS.min && status <= RELEASE_STATUS.max),
  "the statuses of the path are error statuses",
);
