import { COLUMNS, FREE_TEXT, selectFenceTerm, type RecordTable } from "../schema.ts";
import { FENCED_TEXT } from "../fence-sql.ts";
import { DEFAULT_TABLES } from "../tables.ts";
import { CHANNEL } from "./postgres-listener.ts";

/** The statements on one table. The first parameters of each are the row's key. */
export interface Statements {
  readonly select: string;
  /** Makes the row for which all candidates compete, and the row of its fence. */
  readonly seed: (lockTimeoutMs: number) => string;
  /** Locks the fence, and fails unless the fence belongs to a leadership; see {@link guardOf}. */
  readonly guard: string;
  /**
   * Updates the row, and locks nothing else. Further parameters: the version to replace, the new version, the columns, and the
   * writer's wall clock. Null in place of the clock keeps the stored one.
   */
  readonly update: (lockTimeoutMs: number, how: UpdateKind) => string;
  /** Absent if the records are their own fences. */
  readonly fences?: FenceStatements;
}

/**
 * The statements on leases and their fences. Parameters: $1 is the election, $2 the version to replace. From $3 on come the new
 * version, the columns and the wall clock. Then come the new fence's term and `termId`. The last one is the term below which the
 * present fence may be replaced.
 */
export interface FenceStatements {
  readonly seed: string;
  readonly selectTerm: string;
  readonly selectBoth: string;
  readonly update: (lockTimeoutMs: number, keepsNonce: boolean) => string;
}

/** Decides whether an update notifies, and whether it leaves the nonce unchanged. */
export interface UpdateKind {
  readonly keepsNonce: boolean;
  readonly vacates: boolean;
}

/**
 * Returns the settings of a write, for its own transaction alone. The statement must apply them before it locks anything:
 *
 * - The write waits for locks no longer than `lockTimeoutMs`. Other waits have no limit: a general limit could end the wait for the
 *   standby.
 * - Once the write is acknowledged, it is on disk and at the synchronous standby. `off` and `local` are raised; no setting is
 *   lowered.
 * - The server sends a warning at the commit, whatever the account's `client_min_messages`.
 */
function boundsOf(lockTimeoutMs: number): string {
  return `bounds AS MATERIALIZED (SELECT set_config('lock_timeout', '${lockTimeoutMs}', true) AS bound_1,
    set_config('client_min_messages', 'warning', true) AS bound_2,
    CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN set_config('synchronous_commit', 'on', true) END AS bound_3)`;
}

const NOTIFY = `pg_notify('${CHANNEL}', $1)`;
/** Names the server since its last start. The time has microseconds, so no two servers share it. */
const SERVER = "pg_postmaster_start_time()";
const AGE_MS = `CASE WHEN nonce_clock = ${SERVER} THEN EXTRACT(EPOCH FROM clock_timestamp() - nonce_at)::float8 * 1000 END`;
export const SHOWN: string = `*, ${FREE_TEXT.map((column) => `encode(${column}, 'hex') AS ${column}`).join(", ")}, ${AGE_MS} AS age_ms`;

export function statementsOf(table: RecordTable): Statements {
  const { name, key, fences } = table;
  const whereRow = key.map((column, index) => `${column} = $${index + 1}`).join(" AND ");
  const select = `SELECT ${SHOWN} FROM ${name} WHERE ${whereRow}`;
  const seeded = [...key.map((column, index) => [column, `$${index + 1}`]), ...expiryOf(table)];
  const [columns, values] = [0, 1].map((part) => seeded.map((pair) => pair[part]).join(", "));
  const insert = `INSERT INTO ${name} (${columns}) SELECT ${values} FROM bounds ON CONFLICT DO NOTHING`;
  return {
    select,
    seed: (lockTimeoutMs) => {
      const bounds = `WITH ${boundsOf(lockTimeoutMs)}`;
      // Both rows, the lease's first. All candidates must use one order: otherwise two that each wait for the other's row cause a
      // deadlock.
      return fences
        ? `${bounds}, seeded AS (${insert} RETURNING 1)
INSERT INTO ${fences} (election) SELECT $1 FROM (SELECT count(*) FROM seeded) AS after_it ON CONFLICT DO NOTHING`
        : `${bounds}
${insert}`;
    },
    guard: guardOf(table),
    update: (lockTimeoutMs, { keepsNonce, vacates }) => {
      const update = `WITH ${boundsOf(lockTimeoutMs)}
UPDATE ${name} SET ${setOf(table, keepsNonce)} FROM bounds WHERE ${whereRow} AND version = $${key.length + 1}`;
      // Notifies of an administrator's write, and of the release of a broken term.
      return fences && (keepsNonce || vacates) ? `${update} RETURNING ${NOTIFY}` : update;
    },
    ...(fences ? { fences: fenceStatementsOf(table, fences) } : {}),
  };
}

function fenceStatementsOf(table: RecordTable, fences: string): FenceStatements {
  return {
    seed: `INSERT INTO ${fences} (election) VALUES ($1) ON CONFLICT DO NOTHING`,
    selectTerm: selectFenceTerm(fences, "$1"),
    selectBoth: `SELECT l.version, f.term AS fence_term FROM ${table.name} l LEFT JOIN ${fences} f ON f.election = l.election WHERE l.election = $1`,
    update: (lockTimeoutMs, keepsNonce) => fencedUpdateOf(table, fences, lockTimeoutMs, keepsNonce),
  };
}

/** Returns pairs of a column and its value. Returns none for rows that are kept for ever. */
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

/**
 * Returns the key of the advisory lock that is taken before the lock of a fence's row. A writer of the fence takes it
 * exclusively. Row locks let new sharers pass a writer that waits. A leader with many transactions could keep it waiting for
 * ever. Advisory locks do not. They belong to the whole database, so another table's key is another one.
 */
function gateOf(fences: string, election: string): string {
  const key = fences === DEFAULT_TABLES.fences ? election : `concat('${fences} ', ${election})`;
  return `hashtextextended(${key}, 5402371648117)`;
}

/**
 * Returns an update that writes both rows in one statement, and so in one transaction. The fence is locked first. While a guarded
 * transaction makes this statement wait, the lease's row is still free, and renewals go on. The fence never moves backwards. Only
 * an acquisition opens it, for a later term. Only the end of that term closes it.
 */
function fencedUpdateOf(table: RecordTable, fences: string, lockTimeoutMs: number, keepsNonce: boolean): string {
  const [term, termId, below] = [
    `$${COLUMNS.length + 5}::bigint`,
    `$${COLUMNS.length + 6}::text`,
    `$${COLUMNS.length + 7}::bigint`,
  ];
  return `WITH ${boundsOf(lockTimeoutMs)},
  gate AS MATERIALIZED (SELECT pg_advisory_xact_lock(${gateOf(fences, "$1::text")}) FROM bounds),
  locked AS (SELECT election FROM ${fences} f, gate
    WHERE election = $1 AND (f.term < ${below} OR (f.term = ${term} AND ${termId} IS NULL)) FOR UPDATE OF f),
  updated AS (UPDATE ${table.name} SET ${setOf(table, keepsNonce)} WHERE election = (SELECT election FROM locked) AND version = $2 RETURNING election)
UPDATE ${fences} SET term = ${term}, term_id = ${termId} WHERE election = (SELECT election FROM updated) RETURNING ${NOTIFY}`;
}

/**
 * Returns a statement that locks a fence, and fails unless the fence belongs to a leadership. After the failure PostgreSQL
 * refuses every later statement of the transaction, and ends it with ROLLBACK. The parameters after the key are the term and the
 * `termId`, all as texts.
 *
 * To fail, the statement casts a text that is not a number. The text depends on a row, because PostgreSQL evaluates constants
 * beforehand.
 */
function guardOf({ name, key, fences }: RecordTable): string {
  const bid = [...key, "bid_term", "bid_term_id"].map((column, index) => `CAST($${index + 1} AS text) AS ${column}`).join(", ");
  const whereRow = key.map((column) => `f.${column} = bid.${column}`).join(" AND ");
  const gate = fences ? `pg_advisory_xact_lock_shared(${gateOf(fences, "bid.election")})` : "1";
  // `SHARE`: transactions that check the fence do not exclude one another. They exclude only a write of the fence.
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
