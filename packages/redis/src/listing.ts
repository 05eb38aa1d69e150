import type { ListedRecord, ListRecordsOptions, RecordRequestOptions } from "@leasehold/core/provider";
import type { RedisConnections } from "./connections.ts";
import { textOf } from "./drivers/driver.ts";
import { electionOf, leaseKeys, leasePattern } from "./keys.ts";
import { stored } from "./redis-record-store.ts";
import type { ScriptRunner } from "./script-runner.ts";

/** The least number of keys that one SCAN looks at. A server may have millions of keys of other programs. */
const LEAST_COUNT = 1_000;

/** The beginning of a page: the number of a server, and its cursor. */
interface Position {
  readonly primary: number;
  readonly cursor: string;
}

/**
 * Lists the leases whose names begin with a text. Each server's keys are scanned, a page of them with each request, and each lease
 * is read by the script.
 */
export class RedisListing {
  readonly #connections: RedisConnections;
  readonly #scripts: ScriptRunner;
  readonly #prefix: string;

  constructor(connections: RedisConnections, scripts: ScriptRunner, prefix: string) {
    this.#connections = connections;
    this.#scripts = scripts;
    this.#prefix = prefix;
  }

  async *list(beginning: string, { pageSize, request }: ListRecordsOptions): AsyncGenerator<ListedRecord> {
    const count = Math.max(pageSize, LEAST_COUNT);
    // SCAN may show a key twice.
    const seen = new Set<string>();
    let next: Position | undefined = { primary: 0, cursor: "0" };
    while (next) {
      const from: Position = next;
      const page = await request(async (options) => await this.#page(beginning, from, count, seen, options));
      yield* page.records;
      next = page.next;
    }
  }

  async #page(
    beginning: string,
    { primary, cursor }: Position,
    count: number,
    seen: Set<string>,
    options: RecordRequestOptions,
  ): Promise<{ readonly records: readonly ListedRecord[]; readonly next: Position | undefined }> {
    const label = { operation: "list", election: beginning, writes: false };
    const scan = ["SCAN", cursor, "MATCH", leasePattern(this.#prefix, beginning), "COUNT", String(count)];
    const { reply, primaries } = await this.#connections.use(label, options, async (connection) => {
      const senders = await connection.primaries();
      return { reply: await senders[primary]?.(scan, options.signal), primaries: senders.length };
    });
    const [end, keys] = (reply ?? ["0", []]) as readonly [unknown, readonly unknown[]];
    const after = textOf(end) ?? "0";
    const isLast = after === "0" && primary + 1 >= primaries;
    return {
      records: await this.#read(keys.map(textOf), beginning, seen, options),
      next: isLast ? undefined : { primary: after === "0" ? primary + 1 : primary, cursor: after },
    };
  }

  async #read(
    keys: ReadonlyArray<string | undefined>,
    beginning: string,
    seen: Set<string>,
    options: RecordRequestOptions,
  ): Promise<readonly ListedRecord[]> {
    const found = new Set(keys.map((key) => electionOf(this.#prefix, key ?? "")));
    const elections = [...found].filter(
      (name): name is string => name !== undefined && name.startsWith(beginning) && !seen.has(name),
    );
    const records = await Promise.all(
      elections.map(async (election) => {
        const label = { operation: "list", election, writes: false };
        return { election, stored: stored(await this.#scripts.read(leaseKeys(this.#prefix, election), label, options)) };
      }),
    );
    for (const election of elections) seen.add(election);
    return records.filter((one): one is ListedRecord => one.stored !== undefined && one.stored.lostTerm === undefined);
  }
}
