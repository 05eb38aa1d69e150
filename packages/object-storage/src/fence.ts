import { ConfigurationError, FencedError, isLeaseholdError, StoreError, type Leadership } from "@leasehold/core";
import { ForeignRecordError, sendRequest, sleep, type Clock } from "@leasehold/core/provider";
import type { Bucket } from "./bucket.ts";
import { hasDots } from "./keys.ts";
import type { FoundObject, ObjectContent, ObjectRequest } from "./object-service.ts";

export interface FenceOptions {
  /** Ends the wait for the service. For a seal, pass the leadership's own signal. */
  readonly signal?: AbortSignal | undefined;
  /** The longest time of each request. @defaultValue 30_000 */
  readonly timeoutMs?: number | undefined;
}

export interface FencedPutOptions extends FenceOptions {
  /** @defaultValue the present content type; of a new object `text/plain; charset=utf-8` */
  readonly contentType?: string | undefined;
}

/** The key of the metadata with the term of the last fenced write. */
const FENCE_KEY = "leasehold-fence";
const DEFAULT_TIMEOUT_MS = 30_000;
/** The number of tries against other writers of the same object. */
const CONFLICT_TRIES = 5;
/** Google Cloud Storage and Cloudflare R2 accept about one write a second for each object. */
const WRITE_INTERVAL_MS = 1_000;
/** The number of existing objects that one leadership remembers. */
const MAX_KNOWN = 10_000;
/** The line that makes each content on S3 unique. JSON, YAML and most texts may end with blanks. */
const UNIQUE_LINE = /\n[ \t]{64}$/;

/** The keys of the objects that a leadership has seen. If one is missing now, a newer term may have deleted it. */
const known = new WeakMap<Leadership, Set<string>>();

type Change = (found: FoundObject | undefined) => { readonly text: string; readonly contentType?: string | undefined };

/** An object that one leadership guards with its term. */
export class FencedObject {
  readonly #bucket: Bucket;
  readonly #clock: Clock;
  readonly #leadership: Leadership;
  readonly #key: string;

  /** @throws {ConfigurationError} for a key that is empty, belongs to the store, or has a segment of dots. */
  constructor(bucket: Bucket, clock: Clock, leadership: Leadership, key: string) {
    const { prefix } = bucket.keys;
    if (typeof key !== "string" || key === "" || key.startsWith(prefix) || hasDots(key)) {
      throw new ConfigurationError(
        `The key of a guarded object is ${JSON.stringify(key)}; it must not be empty, have a segment '.' or '..', nor begin with the store's prefix '${prefix}'.`,
      );
    }
    this.#bucket = bucket;
    this.#clock = clock;
    this.#leadership = leadership;
    this.#key = key;
  }

  async seal(options: FenceOptions): Promise<void> {
    await this.#write("seal", options, (found) => ({ text: found ? withoutLine(this.#textOf(found)) : "" }));
  }

  async put(text: string, { contentType, ...options }: FencedPutOptions): Promise<void> {
    await this.#write("fenced-put", options, () => ({ text, contentType }));
  }

  async #write(operation: string, options: FenceOptions, change: Change): Promise<void> {
    const { election } = this.#leadership;
    await this.#send("prove", options, false, async ({ signal }) => await this.#bucket.waitUntilProven(election, signal));
    // Marks this write, so that a read after a lost reply recognizes it.
    const writeId = this.#clock.randomUuid();
    let found = await this.#read(options);
    for (let tries = 0; tries < CONFLICT_TRIES; tries += 1) {
      if (!found && this.#seen.has(this.#key)) throw this.#fencedByDelete();
      const content = this.#content(found, change(found), writeId);
      const version = found?.version;
      let failure: unknown;
      try {
        const written = await this.#send(operation, options, true, async (request) => {
          return await this.#bucket.service.put(this.#key, content, version, request);
        });
        if (written) {
          this.#saw();
          return;
        }
      } catch (error) {
        failure = error;
      }
      if (isThrottled(failure)) {
        if (tries === CONFLICT_TRIES - 1) throw failure;
        await sleep(this.#clock, WRITE_INTERVAL_MS, options.signal);
      }
      found = await this.#read(options, failure);
      if (fenceOf(found)?.writeId === writeId) return;
      if (failure !== undefined && !isRefusedForNow(failure)) throw failure as Error;
    }
    throw new StoreError("STORE_CONFLICT", `${this.#bucket.service.name}: others kept writing the object '${this.#key}'.`, {
      store: this.#bucket.service.name,
      operation,
      election,
      mayHaveBeenApplied: false,
    });
  }

  /** @param unanswered the error of a write that may have been carried out. It is thrown if the read fails too. */
  async #read(options: FenceOptions, unanswered?: unknown): Promise<FoundObject | undefined> {
    try {
      const found = await this.#send("get-target", options, false, async (request) => {
        return await this.#bucket.service.get(this.#key, request);
      });
      if (found) this.#saw();
      this.#checkFence(found, unanswered);
      return found;
    } catch (error) {
      throw isLeaseholdError(error, "FENCED") ? error : (unanswered ?? error);
    }
  }

  /** @throws {FencedError} if the object belongs to a newer term, or to another holder of this term. */
  #checkFence(found: FoundObject | undefined, unanswered: unknown): void {
    const { election, term, termId } = this.#leadership;
    const fence = fenceOf(found);
    if (!fence) return;
    const place = `the object '${this.#key}'`;
    if (!Number.isSafeInteger(fence.term) || fence.election === undefined) {
      throw new ForeignRecordError(election, place, "its metadata has a fence that cannot be read");
    }
    if (fence.election !== election) {
      throw new ConfigurationError(
        `${place} is guarded by the election '${fence.election}', not by '${election}': terms of two elections cannot be compared.`,
        { election },
      );
    }
    if (fence.term > term || (fence.term === term && fence.termId !== termId)) {
      throw new FencedError(election, term, fence.term, place, unanswered);
    }
  }

  #content(found: FoundObject | undefined, { text, contentType }: ReturnType<Change>, writeId: string): ObjectContent {
    const { election, term, termId } = this.#leadership;
    const unique = this.#bucket.service.versionIsOfContent ? uniqueLine(this.#clock) : "";
    // Drops the content encoding, because the new text is plain.
    const { contentEncoding: _, ...present } = found?.headers ?? { contentType: "text/plain; charset=utf-8" };
    return {
      body: new TextEncoder().encode(text + unique),
      headers: contentType === undefined ? present : { ...present, contentType },
      metadata: { ...found?.metadata, [FENCE_KEY]: [term, termId, writeId, encodeURIComponent(election)].join(" ") },
    };
  }

  /** @throws {ConfigurationError} unless the object is a plain text, because a seal would destroy it. */
  #textOf({ body, headers: { contentEncoding = "identity" } }: FoundObject): string {
    try {
      if (contentEncoding === "identity") return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    } catch {
      // The error is thrown below.
    }
    const what = contentEncoding === "identity" ? "not a text in UTF-8" : `encoded as ${contentEncoding}`;
    const { election } = this.#leadership;
    throw new ConfigurationError(`The object '${this.#key}' is ${what}; only plain texts can be sealed.`, { election });
  }

  get #seen(): Set<string> {
    const seen = known.get(this.#leadership) ?? new Set<string>();
    known.set(this.#leadership, seen);
    return seen;
  }

  #saw(): void {
    const seen = this.#seen;
    seen.delete(this.#key);
    seen.add(this.#key);
    const [oldest] = seen;
    if (seen.size > MAX_KNOWN && oldest !== undefined) seen.delete(oldest);
  }

  async #send<T>(
    operation: string,
    { signal, timeoutMs = DEFAULT_TIMEOUT_MS }: FenceOptions,
    writes: boolean,
    send: (request: ObjectRequest) => Promise<T>,
  ): Promise<T> {
    const { election } = this.#leadership;
    const label = { clock: this.#clock, store: this.#bucket.service.name, operation, election, writes };
    return await sendRequest({ ...label, timeoutMs, signal }, async (abandoned) => {
      return await send({ operation, election, signal: abandoned });
    });
  }

  #fencedByDelete(): FencedError {
    const { election, term } = this.#leadership;
    const place = `the object '${this.#key}' (deleted since this leadership saw it; only a later leadership may create it again)`;
    return new FencedError(election, term, undefined, place);
  }
}

/** Reports whether a write that was certainly not carried out came too soon after another one. */
function isThrottled(error: unknown): error is StoreError {
  return isLeaseholdError(error, "STORE_THROTTLED") && !(error as StoreError).mayHaveBeenApplied;
}

function isRefusedForNow(error: unknown): boolean {
  return isLeaseholdError(error, "STORE_CONFLICT") || isThrottled(error);
}

function fenceOf(
  found: FoundObject | undefined,
):
  | { readonly term: number; readonly termId: string; readonly writeId: string; readonly election: string | undefined }
  | undefined {
  const text = found?.metadata[FENCE_KEY];
  if (text === undefined) return undefined;
  const [term, termId = "", writeId = "", election = ""] = text.split(" ");
  return { term: Number(term), termId, writeId, election: decoded(election) };
}

function decoded(text: string): string | undefined {
  try {
    return text === "" ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function withoutLine(text: string): string {
  return text.replace(UNIQUE_LINE, "");
}

/** Returns a line of 64 random blanks and tabs. */
function uniqueLine(clock: Clock): string {
  const digits = clock.randomUuid().replaceAll("-", "").slice(-16);
  const bits = Array.from(digits, (digit) => Number.parseInt(digit, 16).toString(2).padStart(4, "0")).join("");
  return `\n${bits.replaceAll("0", " ").replaceAll("1", "\t")}`;
}
