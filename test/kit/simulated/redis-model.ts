/** The keys of a record and of its fence. */
export type Keys = readonly [record: string, fence: string];
type Hash = ReadonlyMap<string, string>;

const SHOWN = ["version", "record", "nonceAt", "nonceServer", "nonceWallMs"] as const;

/**
 * The hashes of a Redis, and the two scripts of `@leasehold/redis` on them, in TypeScript. A test of that package compares every
 * answer and every hash with those of a server.
 */
export class RedisModel {
  readonly #hashes: Map<string, Hash>;

  constructor(hashes: Iterable<readonly [string, Hash]> = []) {
    this.#hashes = new Map(hashes);
  }

  copy(): RedisModel {
    return new RedisModel(this.#hashes);
  }

  read([record, fence]: Keys, nowUs: number, server: string): readonly (string | null)[] {
    const hash = this.#hashes.get(record);
    const head = [nowUs.toFixed(0), server];
    if (hash === undefined) return [...head, "none", fence === record ? null : (this.fence(fence) ?? null)];
    if (!hash.has("version")) return [...head, "foreign"];
    return [...head, "record", ...SHOWN.map((field) => hash.get(field) ?? null)];
  }

  write(keys: Keys, values: readonly string[], nowUs: number, server: string): readonly (string | null)[] {
    const [ifVersion = "", version = "", text = "", wallMs = "", byServer = "", untilUs = "", , fence = "", below = ""] = values;
    const [record, fenceKey] = keys;
    const head = [nowUs.toFixed(0), server];
    if (server !== byServer || nowUs > Number(untilUs)) return [...head, "late"];
    const hash = this.#hashes.get(record);
    const present = hash === undefined ? "" : hash.get("version");
    if (ifVersion === "never" || present !== ifVersion) return this.read(keys, nowUs, server);
    if (fence !== "") {
      const former = this.fence(fenceKey) ?? "";
      const term = Number.parseInt(former, 10);
      const closes = fence === `${term} `;
      if (below !== "" && term >= Number(below) && !closes) return [...head, "ahead", former];
      this.#set(fenceKey, { fence });
    }
    this.#set(record, { version, record: text });
    if (wallMs !== "") this.#set(record, { nonceAt: nowUs.toFixed(0), nonceServer: server, nonceWallMs: wallMs });
    return [...head, "written"];
  }

  fence(key: string): string | undefined {
    return this.#hashes.get(key)?.get("fence");
  }

  record(key: string): string | undefined {
    return this.#hashes.get(key)?.get("record");
  }

  /** Returns the fields of a hash. */
  fields(key: string): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#hashes.get(key) ?? []);
  }

  /** Writes a record as another program might, which does not tell the time. */
  overwrite(key: string, record: string, version: string, nowUs: number): void {
    const kept = [...(this.#hashes.get(key) ?? [])].filter(([field]) => field !== "nonceWallMs");
    this.#hashes.set(key, new Map([...kept, ["version", version], ["record", record], ["nonceAt", nowUs.toFixed(0)]]));
  }

  #set(key: string, fields: Readonly<Record<string, string>>): void {
    this.#hashes.set(key, new Map([...(this.#hashes.get(key) ?? []), ...Object.entries(fields)]));
  }
}
