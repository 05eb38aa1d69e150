import { COLUMNS, FENCES, FREE_TEXT, LEASE_TABLE, LEASES, type RecordTable } from "../schema.ts";
import { CHANNEL } from "./postgres-listener.ts";

/** The statements on one table. The first parameters are the row's key. */
export interface Statements {
  readonly select: string;
  /** Makes the row that every candidate competes for, and its fence's. */
  readonly seed: (lockTimeoutMs: number) => string;
  /** Locks the fence, and fails unless it is that of a leadership; see {@link guardOf}. */
  readonly guard: string;
  /**
   * Further parameters: the version to replace, the new one, the columns, and the writer's wall clock, or null to keep what
   * is there. Locks nothing but the row.
   */
  readonly update: (lockTimeoutMs: number, how: UpdateKind) => string;
}

/** How an update is to be notified of, and whether it leaves the nonce as it is. */
export interface UpdateKind {
  readonly keepsNonce: boolean;
  readonly vacates: boolean;
}

/**
 * The settings of a write, for its own transaction alone, which it has to read before it locks anything:
 *
 * - It waits for locks no longer than this. Nothing else of it is bounded: the end of another wait could be that for the replica.
 * - It is on disk, and at the synchronous standby, once it is acknowledged: `off` and `local` are raised, and nothing lowered.
 * - A warning at its commit is sent, whatever the account's `client_min_messages`.
 */
function boundsOf(lockTimeoutMs: number): string {
  return `bounds AS MATERIALIZED (SELECT set_config('lock_timeout', '${lockTimeoutMs}', true) AS bound_1,
    set_config('client_min_messages', 'warning', true) AS bound_2,
    CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN set_config('synchronous_commit', 'on', true) END AS bound_3)`;
}

/** The server, since its last start: to the microsecond, it has that in common with no other. */
const SERVER = "pg_postmaster_start_time()";
const AGE_MS = `CASE WHEN nonce_clock = ${SERVER} THEN EXTRACT(EPOCH FROM clock_timestamp() - nonce_at)::float8 * 1000 END`;
/** A row as it is read. */
const SHOWN = `*, ${FREE_TEXT.map((column) => `encode(${column}, 'hex') AS ${column}`).join(", ")}, ${AGE_MS} AS age_ms`;

export function statementsOf(table: RecordTable): Statements {
  const { name, key, fences } = table;
  const whereRow = key.map((column, index) => `${column} = $${index + 1}`).join(" AND ");
  const select = `SELECT ${SHOWN} FROM ${name} WHERE ${whereRow}`;
  const seeded = [...key.map((column, index) => [column, `$${index + 1}`]), ...expiryOf(table)];
  const [columns, values] = [0, 1].map((part) => seeded.map((pair) => pair[part]).join(", "));
  const insert = `INSERT INTO ${name} (${columns}) SELECT ${values} FROM bounds ON CONFLICT DO NOTHING`;
  const seed = (lockTimeoutMs: number): string => `WITH ${boundsOf(lockTimeoutMs)}
${insert}`;
  if (fences) return { select, seed: seedBothBy(insert), guard: guardOf(table), update: notifyingUpdateOf };
  return {
    select,
    seed,
    guard: guardOf(table),
    update: (lockTimeoutMs, { keepsNonce }) => `WITH ${boundsOf(lockTimeoutMs)}
UPDATE ${name} SET ${setOf(table, keepsNonce)} FROM bounds WHERE ${whereRow} AND version = $${key.length + 1}`,
  };
}

/** Returns pairs of a column and its value: none, for rows that are kept for good. */
function expiryOf({ retentionMs }: RecordTable): [string, string][] {
  return retentionMs === undefined ? [] : [["expires_at", `clock_timestamp() + make_interval(secs => ${retentionMs / 1_000})`]];
}

function setOf(table: RecordTable, keepsNonce: boolean): string {
  const first = table.key.length + 2;
  const given = ["version", ...COLUMNS].map((column, index) => [column, `$${first + index}`]);
  const nonceAt = keepsNonce
    ? []
    : [
        ["nonce_at", "clock_timestamp()"],
        ["nonce_clock", SERVER],
      ];
  const wall = ["nonce_wall_ms", `COALESCE($${first + given.length}::bigint, nonce_wall_ms)`];
  return [...given, ...nonceAt, wall, ...expiryOf(table)].map(([column, value]) => `${column} = ${value}`).join(", ");
}

// The statements below are on the leases and their fences alone. $1: election, $2: the version to replace, and from $3 on the
// version, the columns and the wall clock; then the fence's term and termId, and the term below which the present fence gives way.

export const SEED_FENCE: string = `INSERT INTO ${FENCES} (election) VALUES ($1) ON CONFLICT DO NOTHING`;
export const SELECT_BOTH: string = `SELECT l.version, f.term AS fence_term FROM ${LEASES} l LEFT JOIN ${FENCES} f ON f.election = l.election WHERE l.election = $1`;

/** Makes both rows, the lease's first: two that each waited for the other's row would be a deadlock. */
function seedBothBy(seedLease: string): Statements["seed"] {
  return (lockTimeoutMs) => `WITH ${boundsOf(lockTimeoutMs)}, seeded AS (${seedLease} RETURNING 1)
INSERT INTO ${FENCES} (election) SELECT $1 FROM (SELECT count(*) FROM seeded) AS after_it ON CONFLICT DO NOTHING`;
}

/** Returns an update that leaves the fence as it is. An administrator's write and the release of a broken term notify; no other does. */
function notifyingUpdateOf(lockTimeoutMs: number, { keepsNonce, vacates }: UpdateKind): string {
  const update = `WITH ${boundsOf(lockTimeoutMs)}
UPDATE ${LEASES} SET ${setOf(LEASE_TABLE, keepsNonce)} FROM bounds WHERE election = $1 AND version = $2`;
  return keepsNonce || vacates ? `${update} RETURNING pg_notify('${CHANNEL}', $1)` : update;
}

/**
 * The advisory lock before a fence's row, exclusive for those who change it. Locks of rows let sharers pass who come
 * after somebody that waits to have the row alone, who then never gets it from a leader with many transactions; these do not.
 */
function gateOf(election: string): string {
  return `hashtextextended(${election}, 5402371648117)`;
}
const GATE = gateOf("$1::text");

/**
 * Both rows in one statement, and so in one transaction. The fence is locked first: while a guarded transaction makes
 * this wait, renewals of the lease go on. And never backwards: only an acquisition opens the fence, for a later term, and
 * only the end of that one closes it.
 */
export function fencedUpdateOf(lockTimeoutMs: number, keepsNonce: boolean): string {
  const [term, termId, below] = [
    `$${COLUMNS.length + 5}::bigint`,
    `$${COLUMNS.length + 6}::text`,
    `$${COLUMNS.length + 7}::bigint`,
  ];
  return `WITH ${boundsOf(lockTimeoutMs)},
  gate AS MATERIALIZED (SELECT pg_advisory_xact_lock(${GATE}) FROM bounds),
  locked AS (SELECT election FROM ${FENCES} f, gate
    WHERE election = $1 AND (f.term < ${below} OR (f.term = ${term} AND ${termId} IS NULL)) FOR UPDATE OF f),
  updated AS (UPDATE ${LEASES} SET ${setOf(LEASE_TABLE, keepsNonce)} WHERE election = (SELECT election FROM locked) AND version = $2 RETURNING election)
UPDATE ${FENCES} SET term = ${term}, term_id = ${termId} WHERE election = (SELECT election FROM updated) RETURNING pg_notify('${CHANNEL}', $1)`;
}

/** Begins the text that a guard cannot cast, in a message of PostgreSQL's. */
export const FENCED_TEXT = "LEASEHOLD_FENCED";

/**
 * Returns a statement that locks a fence and fails unless it is that of a leadership. PostgreSQL then refuses whatever comes in the same
 * transaction, and ends it with ROLLBACK. After the key come the term and the termId, all as texts.
 *
 * A number is made of a text that is none. The text depends on a row, since PostgreSQL evaluates constants beforehand.
 */
function guardOf({ name, key, fences }: RecordTable): string {
  const bid = [...key, "bid_term", "bid_term_id"].map((column, index) => `CAST($${index + 1} AS text) AS ${column}`).join(", ");
  const whereRow = key.map((column) => `f.${column} = bid.${column}`).join(" AND ");
  const gate = fences ? `pg_advisory_xact_lock_shared(${gateOf("bid.election")})` : "1";
  // `SHARE`: those who guard by the fence do not exclude one another, only whoever changes it.
  const found = fences
    ? `SELECT f.term, f.term_id FROM ${fences} f`
    : `SELECT f.term, CASE WHEN f.broken_reason IS NULL THEN f.term_id END AS term_id FROM ${name} f`;
  return `WITH bid AS MATERIALIZED (SELECT ${bid}),
  gate AS MATERIALIZED (SELECT ${gate} AS passed FROM bid),
  found AS MATERIALIZED (${found}, bid, gate WHERE ${whereRow} FOR SHARE OF f)
SELECT CAST(CASE WHEN EXISTS (SELECT 1 FROM found WHERE term = CAST(bid.bid_term AS bigint) AND term_id = bid.bid_term_id) THEN '1'
  ELSE concat('${FENCED_TEXT} by term ', coalesce((SELECT CAST(term AS text) FROM found), 'none'), ' of ', bid.election) END AS integer) AS passed
FROM bid`;
}
