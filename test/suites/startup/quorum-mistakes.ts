import { rm } from "node:fs/promises";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { Elector, isLeaseholdError, type Leadership, type LeaseStore, type Logger } from "@leasehold/core";
import type { RecordStore } from "@leasehold/core/provider";
import { EtcdLeaseStore } from "@leasehold/etcd";
import { onlyAsLeader } from "@leasehold/functions";
import { QuorumLeaseStore, type QuorumLeaseStoreOptions, type QuorumMember } from "@leasehold/quorum";
import { SqlLeaseStore } from "@leasehold/sql";
import { ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { AWS, CLOSED, items, noAwsCredentials } from "./mistakes.ts";
import { untilSaid, type PageLines } from "./page-lines.ts";
import { steady } from "./steady.ts";

/** A leader renews within this time, so that an absent member is asked twice. */
const HEARD_MS = 7_000;
/** If no candidate leads, a refusal ends the campaign after a lease, which is long before this. */
const CAMPAIGN_MS = 3 * LEASE_MS;
/** As long as the lease allows, so that a member on a file is in time on a busy machine. */
const ATTEMPT_TIMEOUT_MS = LEASE_MS / 6;
/** More electors at once would keep the files of one another waiting. */
const AT_ONCE = 6;
/** Longer than the task may wait for the messages. */
const DRAIN_TIMEOUT_MS = 120_000;
/** The distance of members for which a short lease leaves too little time. */
const FAR_MS = 200;

type Members = QuorumLeaseStoreOptions["members"];
/** SQLite files, by the members' names. */
type Files = Readonly<Record<"a" | "b" | "c", SqlLeaseStore>>;

/** A folder for SQLite files, and a port that answers nothing. */
interface Place {
  readonly path: (name: string) => string;
  /** Opens a store of its own on a file. */
  readonly file: (name: string) => SqlLeaseStore;
  /** Opens the stores on three files on which a quorum has led before. */
  readonly begun: (names?: string) => Promise<Files>;
  readonly silent: string;
}

/** The settings of a process. By default an elector runs on a quorum of these members. */
interface Wrong {
  readonly members: Members;
  readonly leaseDurationMs?: number;
  /** A call of a leader, with its name. */
  readonly call?: readonly [name: string, call: (store: QuorumLeaseStore, leadership: Leadership) => Promise<unknown>];
}

const MISTAKES: Readonly<Record<string, (place: Place) => Wrong | Promise<Wrong>>> = {
  "two stores are given": ({ file }) => ({ members: { a: file("a"), b: file("b") } }),
  "four stores are given": ({ file }) => ({ members: { a: file("a"), b: file("b"), c: file("c"), d: file("d") } }),
  "one store is given twice": ({ file }) => {
    const a = file("a");
    return { members: { a, b: file("b"), c: a } };
  },
  "one file is given twice, at the beginning": ({ file }) => ({ members: { a: file("a"), b: file("b"), c: file("a") } }),
  "one file is given twice, later": async ({ file, begun }) => ({ members: { ...(await begun()), c: file("a") } }),
  "a member keeps no records": ({ file }) => {
    const etcd = new EtcdLeaseStore({ endpoints: `http://${CLOSED}` }) as unknown as QuorumMember;
    return { members: { a: file("a"), b: file("b"), c: etcd } };
  },
  "a member was used by itself before": async ({ file }) => {
    const a = file("a");
    await lead(a);
    return { members: { a, b: file("b"), c: file("c") } };
  },
  "nobody is logged in at one, at the beginning": ({ file }) => ({
    members: { a: file("a"), b: file("b"), c: unauthenticated() },
  }),
  "nobody is logged in at one, later": async ({ begun }) => ({ members: { ...(await begun()), c: unauthenticated() } }),
  "nobody listens at one, at the beginning": ({ file }) => ({ members: { a: file("a"), b: file("b"), c: unreachable() } }),
  "nobody listens at one, later": async ({ begun }) => ({ members: { ...(await begun()), c: unreachable() } }),
  "nobody listens at two": async ({ begun }) => ({ members: { ...(await begun()), b: unreachable(), c: unreachable() } }),
  "one never answers": async ({ begun, silent }) => ({
    members: { ...(await begun()), c: items({ ...AWS, endpoint: silent }) },
  }),
  "the lease is too short for how far away two are": async ({ begun }) => {
    const { a, b, c } = await begun();
    return { members: { a, b: farAway(b.records), c: farAway(c.records) }, leaseDurationMs: 3_000 };
  },
  "the lease is too short for the members' clocks": async ({ begun }) => ({ members: await begun(), leaseDurationMs: 900 }),
  "processes have different names for one member": async ({ begun }) => {
    const { a, b, c } = await begun();
    return { members: { a, b, d: c } };
  },
  "two members are exchanged": async ({ begun }) => {
    const { a, b, c } = await begun();
    return { members: { a: c, b, c: a } };
  },
  "one is of another quorum, whose members have the same names": async ({ begun }) => ({
    members: { ...(await begun()), c: (await begun("other-")).c },
  }),
  "another store has taken the place of one": async ({ begun, file }) => {
    const former = await begun();
    await replace(former, { ...former, c: file("new") });
    return { members: former };
  },
  "two are empty": async ({ begun, file }) => ({ members: { ...(await begun()), a: file("new"), b: file("newer") } }),
  "one was closed": async ({ begun }) => {
    const members = await begun();
    await members.c.close();
    return { members };
  },
  "a function runs where one tells no ages": async ({ begun }) => {
    const { a, b, c } = await begun();
    const records: RecordStore = { ...methodsOf(c.records), capabilities: { ...c.records.capabilities, storeClock: undefined } };
    const call = (store: QuorumLeaseStore) => onlyAsLeader({ store, election: "tick", remainingMs: 60_000 }, () => "ran")();
    return { members: { a, b, c: records }, call: ["onlyAsLeader", call] };
  },
  "a member is sealed that there is not": async ({ begun }) => ({
    members: await begun(),
    call: ["seal", (store, leadership) => store.seal(leadership, "orders")],
  }),
  "a write is guarded by a member that was away and is not sealed": async ({ begun, path }) => {
    const { a, b, c } = await begun();
    return { members: { a, b, c: unreachable() }, call: ["fence", (_, leadership) => guard(c, path("c"), leadership)] };
  },
};

/** Makes each mistake, and returns the messages. */
export async function quorumMistakes(expected: PageLines): Promise<readonly string[]> {
  await using end = new AsyncDisposableStack();
  const made: Array<readonly [mistake: string, wrong: Wrong]> = [];
  const folder = await memoryFolder("leasehold-quorum-mistakes-");
  end.defer(() => rm(folder, { recursive: true }));
  const silent = await silentPort(end);
  for (const [at, [mistake, make]] of Object.entries(MISTAKES).entries()) {
    const path = (name: string): string => join(folder, `${at}-${name}.db`);
    const file = (name: string): SqlLeaseStore => end.use(new SqlLeaseStore({ sqlite: path(name) }));
    const begun = async (names = ""): Promise<Files> => {
      const files = { a: file(`${names}a`), b: file(`${names}b`), c: file(`${names}c`) };
      await lead(new QuorumLeaseStore({ members: files, logger: false }));
      return files;
    };
    made.push([mistake, await make({ path, file, begun, silent })]);
  }
  const told: string[] = [];
  const rest = made.entries();
  const lane = async (): Promise<void> => {
    for (const [at, [mistake, wrong]] of rest) told[at] = `${mistake}: ${await tell(wrong, expected(mistake))}`;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return told;
}

async function tell(
  { members, leaseDurationMs = LEASE_MS, call }: Wrong,
  expected: readonly string[] | undefined,
): Promise<string> {
  const said = new Set<string>();
  const nothing = (): void => undefined;
  const keep = (message: string): void => void said.add(message);
  const logger: Logger = { debug: nothing, info: nothing, warn: keep, error: keep };
  const [name = "", does] = call ?? [];
  let elector: Elector;
  let store: QuorumLeaseStore;
  try {
    store = new QuorumLeaseStore({ members, logger });
    const attemptTimeoutMs = leaseDurationMs === LEASE_MS ? ATTEMPT_TIMEOUT_MS : undefined;
    elector = new Elector({
      store,
      election: ELECTION,
      leaseDurationMs,
      attemptTimeoutMs,
      drainTimeoutMs: DRAIN_TIMEOUT_MS,
      logger,
    });
  } catch (error) {
    return `the constructor throws ${thrown(error)}`;
  }
  const beganMs = performance.now();
  const led = Promise.withResolvers<string>();
  const rejected = elector
    .run(async (leadership) => {
      if (does)
        led.resolve(
          (await does(store, leadership).then(nothing, (error: unknown) => `${name} throws ${thrown(error)}`)) ??
            `${name} resolves`,
        );
      else led.resolve(`run leads, and the logger is told${linesOf(await heard(said, expected, HEARD_MS), expected)}`);
      await leadership.ended;
    })
    .then(nothing, (error: unknown) => {
      const isAtOnce = performance.now() - beganMs < LEASE_MS;
      return `run rejects ${isAtOnce ? "at once" : "after a lease"} with ${thrown(error)}`;
    });
  // On a busy machine a campaign that leads may not lead yet.
  const neither = delay(CAMPAIGN_MS)
    .then(async () => await heard(said, expected, 0))
    .then((lines) => `run goes on, and the logger is told${linesOf(lines, expected)}`);
  const outcome = await Promise.race([led.promise, rejected, neither]);
  await elector.stop();
  return outcome ?? "run resolves";
}

async function heard(
  said: ReadonlySet<string>,
  expected: readonly string[] | undefined,
  quietMs: number,
): Promise<readonly string[]> {
  await untilSaid(expected, () => [...said].map((line) => shown(line)), quietMs);
  return [...said];
}

/** Returns the lines in the page's form, but no line that only a busy machine causes: a member was too slow for once. */
function linesOf(lines: readonly string[], expected: readonly string[] | undefined): string {
  // The report that a failure lasts has the same message as the first one, which may have been of a slow request.
  const all = [...new Set(lines.map((line) => shown(line)))];
  const told = all.filter((line) => !expected || expected.includes(line) || !line.includes(" in time"));
  if (told.length === 0) return " nothing";
  return told
    .toSorted()
    .map((line) => `\n${line}`)
    .join("");
}

/** Returns a line in the page's form. */
function shown(line: string): string {
  return `    ${withoutIds(steady(line))}`;
}

function thrown(error: unknown): string {
  if (!isLeaseholdError(error)) throw error;
  return `${error.code}\n    ${withoutIds(error.message)}`;
}

/** Removes ids and times. Of two requests to a member at once, it names the one for the list of members. */
function withoutIds(message: string): string {
  return message
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "…")
    .replaceAll(/ within \d+ ms/g, " in time")
    .replace(
      /(?<=^The quorum's member .*' of )'(leasehold-quorum-marker|nightly-billing)'(?= failed| in time)/,
      "'leasehold-quorum-members'",
    );
}

/** Leads once, for a renewal. */
async function lead(store: LeaseStore): Promise<void> {
  const lease = await win(store);
  await store.renew(lease, LIMITS);
  await store.release(lease, LIMITS);
}

/**
 * Replaces the stores of a quorum by others, one of which is empty. Ends when a process with the former stores finds that one
 * does not count.
 */
async function replace(former: Files, present: Files): Promise<void> {
  const old = new QuorumLeaseStore({ members: former, logger: false });
  const store = new QuorumLeaseStore({ members: present, logger: false });
  for (;;) {
    await lead(store);
    await old.check({ election: ELECTION, ...LIMITS });
    if (old.members().some(({ counts }) => !counts)) return;
  }
}

async function guard(store: SqlLeaseStore, path: string, leadership: Leadership): Promise<void> {
  const database = new DatabaseSync(path);
  try {
    database.exec("BEGIN");
    await store.fence(leadership, database);
  } finally {
    database.close();
  }
}

/** Opens a port that accepts connections and answers nothing. */
async function silentPort(end: AsyncDisposableStack): Promise<string> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  end.defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function unauthenticated(): QuorumMember {
  return items({ ...AWS, credentials: () => Promise.reject(noAwsCredentials()) });
}

function unreachable(): QuorumMember {
  return items({ ...AWS, endpoint: `http://${CLOSED}` });
}

/** A store of the user's own. */
function methodsOf(records: RecordStore): RecordStore {
  return {
    name: records.name,
    capabilities: records.capabilities,
    get: (...of) => records.get(...of),
    put: (...of) => records.put(...of),
  };
}

function farAway(records: RecordStore): RecordStore {
  const near = methodsOf(records);
  return {
    ...near,
    get: async (...of) => {
      await delay(FAR_MS);
      return await near.get(...of);
    },
    put: async (...of) => {
      await delay(FAR_MS);
      return await near.put(...of);
    },
  };
}
