import { COLUMNS, FENCES, FREE_TEXT, LEASE_TABLE, LEASES, OWN_FENCE, type RecordTable } from "../schema.ts";
import { CHANNEL } from "./postgres-listener.ts";

/** The statements on one table. The first parameters are the row's key. */
export interface Statements {
  readonly select: string;
  /** Makes the row that every candidate competes for, and its fence's. */
  readonly seed: string;
  readonly lockFence: string;
  /**
   * Further parameters: the version to replace, the new one, the columns, and the writer's wall clock, or null to keep what
   * is there. Locks nothing but the row.
   */
  readonly update: (keepsNonce: boolean, vacates: boolean) => string;
}

/** The server, since its last start: to the microsecond, it has that in common with no other. */
const SERVER = "pg_postmaster_start_time()";
const AGE_MS = `CASE WHEN nonce_clock = ${SERVER} THEN EXTRACT(EPOCH FROM clock_timestamp() - nonce_at)::float8 * 1000 END`;

export function statementsOf(table: RecordTable): Statements {
  const { name, key, fences } = table;
  const whereRow = key.map((column, index) => `${column} = $${index + 1}`).join(" AND ");
  const select = `SELECT *, ${FREE_TEXT.map((column) => `encode(${column}, 'hex') AS ${column}`).join(", ")}, ${AGE_MS} AS age_ms FROM ${name} WHERE ${whereRow}`;
  const seeded = [...key.map((column, index) => [column, `$${index + 1}`]), ...expiryOf(table)];
  const [columns, values] = [0, 1].map((part) => seeded.map((pair) => pair[part]).join(", "));
  const seed = `INSERT INTO ${name} (${columns}) VALUES (${values}) ON CONFLICT DO NOTHING`;
  if (fences) return { select, seed: `WITH seeded AS (${seed}) ${SEED_FENCE}`, lockFence: LOCK_FENCE, update: notifyingUpdateOf };
  return {
    select,
    seed,
    lockFence: `SELECT ${OWN_FENCE} FROM ${name} WHERE ${whereRow} FOR SHARE`,
    update: (keepsNonce) => `UPDATE ${name} SET ${setOf(table, keepsNonce)} WHERE ${whereRow} AND version = $${key.length + 1}`,
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

/** Returns an update that notifies of its change. Renewals notify nobody. */
function notifyingUpdateOf(keepsNonce: boolean, vacates: boolean): string {
  // An administrator's write and the release of a broken term notify, and so does a publication; a renewal leaves the
  // value as it was.
  const condition = keepsNonce || vacates ? "" : "WHERE value_before IS DISTINCT FROM value";
  return `WITH updated AS (
  UPDATE ${LEASES} SET ${setOf(LEASE_TABLE, keepsNonce)} FROM (SELECT value AS value_before FROM ${LEASES} WHERE election = $1) AS before
  WHERE election = $1 AND version = $2 RETURNING value, value_before)
SELECT (SELECT pg_notify('${CHANNEL}', $1) FROM updated ${condition}) AS notified FROM updated`;
}

/**
 * The advisory lock before a fence's row, exclusive for those who change it. Locks of rows let sharers pass who come
 * after somebody that waits to have the row alone, who then never gets it from a leader with many transactions; these do not.
 */
const GATE = "hashtextextended($1::text, 5402371648117)";

/**
 * Both rows in one statement, and so in one transaction. The fence is locked first: while a guarded transaction makes
 * this wait, renewals of the lease go on. And never backwards: only an acquisition opens the fence, for a later term, and
 * only the end of that one closes it.
 */
export function fencedUpdateOf(keepsNonce: boolean): string {
  const [term, termId, below] = [
    `$${COLUMNS.length + 5}::bigint`,
    `$${COLUMNS.length + 6}::text`,
    `$${COLUMNS.length + 7}::bigint`,
  ];
  return `WITH gate AS MATERIALIZED (SELECT pg_advisory_xact_lock(${GATE})),
  locked AS (SELECT election FROM ${FENCES} f, gate
    WHERE election = $1 AND (f.term < ${below} OR (f.term = ${term} AND ${termId} IS NULL)) FOR UPDATE OF f),
  updated AS (UPDATE ${LEASES} SET ${setOf(LEASE_TABLE, keepsNonce)} WHERE election = (SELECT election FROM locked) AND version = $2 RETURNING election)
UPDATE ${FENCES} SET term = ${term}, term_id = ${termId} WHERE election = (SELECT election FROM updated) RETURNING pg_notify('${CHANNEL}', $1)`;
}

/** `SHARE`: those who guard by the fence do not exclude one another, only whoever changes it. */
const LOCK_FENCE = `WITH gate AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(${GATE}))
SELECT term, term_id FROM ${FENCES} f, gate WHERE election = $1 FOR SHARE OF f`;
