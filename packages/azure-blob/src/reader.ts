import { ForeignRecordError, type Clock, ExpiringMap } from "@leasehold/core/provider";
import type { LeaseSnapshot, ListedElection } from "@leasehold/core";
import type { ListPage } from "./blob-page.ts";
import type { HeldBlobLease, Holdings } from "./holding.ts";
import type { BlobProperties, BlobRequests, CallLimits } from "./requests.ts";
import { decodeNote, decodeTerm, type BreakNote } from "./schema.ts";
import { sighted, snapshotOf, type BlobReading, type ObservedBlob } from "./observed-blob.ts";

/** One page of a list; `next` is absent on the last one. */
interface ListedPage {
  readonly elections: readonly ListedElection[];
  readonly next: string | undefined;
}

/** Reads the elections' blobs, and remembers what this process has observed of each. */
export class BlobReader {
  readonly #clock: Clock;
  readonly #requests: BlobRequests;
  readonly #holdings: Holdings;
  readonly #sightings: ExpiringMap<ObservedBlob | "absent">;

  constructor(clock: Clock, requests: BlobRequests, holdings: Holdings) {
    this.#clock = clock;
    this.#requests = requests;
    this.#holdings = holdings;
    this.#sightings = new ExpiringMap(clock);
  }

  /**
   * Reads the blob, and an administrator's note if the lease is breaking or broken. Sends one request or two.
   * @returns `undefined` if there is no blob.
   * @throws {ForeignRecordError} if the blob cannot be read as a lease.
   */
  async read(election: string, limits: CallLimits): Promise<ObservedBlob | undefined> {
    const properties = await this.#requests.head(election, limits);
    if (!properties) {
      this.#sightings.set(election, "absent");
      return undefined;
    }
    return await this.#take(election, properties, limits);
  }

  /**
   * Reads one page of the elections whose blobs' names begin with the prefix. Returns the state of each election as this process
   * has observed it. Sends one request, and one more for each lease that is breaking or broken.
   */
  async list(prefix: string, page: ListPage, limits: CallLimits): Promise<ListedPage> {
    const { blobs, next } = await this.#requests.list(prefix, page, limits);
    const elections: ListedElection[] = [];
    for (const { election, properties } of blobs) elections.push(await this.#listed(election, properties, limits));
    return { elections, next };
  }

  async #listed(election: string, properties: BlobProperties, limits: CallLimits): Promise<ListedElection> {
    try {
      return this.snapshot(election, await this.#take(election, properties, limits));
    } catch (error) {
      if (!(error instanceof ForeignRecordError)) throw error;
      return { election, state: "foreign", problem: error.problem };
    }
  }

  /** Records a blob that a reply has shown. @throws {ForeignRecordError} if it cannot be read as a lease. */
  async #take(election: string, properties: BlobProperties, limits: CallLimits): Promise<ObservedBlob> {
    const term = decodeTerm(properties.metadata, properties.contentLength);
    if ("problem" in term) {
      this.forget(election);
      throw new ForeignRecordError(election, this.#requests.describe(election), term.problem);
    }
    const broken = properties.leaseState === "breaking" || properties.leaseState === "broken";
    const note = broken ? await this.#readNote(election, term.term, limits) : undefined;
    const reading = { ...properties, ...note, term, seenMs: this.#clock.monotonicMs() };
    const observed = sighted(this.last(election), reading);
    this.#sightings.set(election, observed);
    return observed;
  }

  /** Returns what this process remembers of the blob. */
  last(election: string): ObservedBlob | undefined {
    const seen = this.#sightings.get(election);
    return seen === "absent" ? undefined : seen;
  }

  /** Returns whether the last read of this process found no blob. */
  isAbsent(election: string): boolean {
    return this.#sightings.get(election) === "absent";
  }

  /** Keeps the remembered blob for at least `forMs` more. */
  keep(election: string, forMs: number): void {
    this.#sightings.keep(election, forMs);
  }

  forget(election: string): void {
    this.#sightings.delete(election);
  }

  /**
   * Records the blob that this process has created, for an election that has never had a leader. Returns the same as a read
   * would.
   */
  sawCreated(election: string, etag: string): ObservedBlob {
    return this.#sawFree(election, { metadata: {}, etag, unchangedMs: 0, term: { term: 0 } });
  }

  /** Records the end of a term of this process. A lease that the next read finds then belongs to another term. */
  sawEnd(holding: HeldBlobLease): void {
    this.#holdings.drop(holding);
    const { term, others: metadata, etag, writtenAt, lease } = holding;
    const unchangedMs = this.#clock.monotonicMs() - writtenAt.monotonicMs;
    this.#sawFree(lease.election, { metadata, etag, unchangedMs, term }, true);
  }

  /** Records that the service has released the lease of that term. {@link sawEnd} must have recorded the term's end before. */
  sawReleased({ lease, term }: HeldBlobLease): void {
    const last = this.last(lease.election);
    if (last?.isAssumed && last.term.termId === term.termId) this.#sightings.set(lease.election, { ...last, isAssumed: false });
  }

  /** Returns the snapshot for readers at present. */
  snapshot(election: string, observed: ObservedBlob): LeaseSnapshot {
    const isOurs = this.#holdings.holds(election, observed.term);
    return snapshotOf(election, observed, isOurs, this.#clock.monotonicMs());
  }

  #sawFree(
    election: string,
    blob: Pick<BlobReading, "metadata" | "etag" | "unchangedMs" | "term">,
    isAssumed: boolean = false,
  ): ObservedBlob {
    const free = { leaseState: "available", infinite: false, seenMs: this.#clock.monotonicMs() } as const;
    const observed = { ...sighted(undefined, { ...free, ...blob }), isAssumed };
    this.#sightings.set(election, observed);
    return observed;
  }

  /** Returns the note for that term. A note for another term is out of date, and is ignored. */
  async #readNote(
    election: string,
    term: number,
    limits: CallLimits,
  ): Promise<{ note: BreakNote; noteAgeMs: number } | undefined> {
    const found = await this.#requests.readNote(election, limits);
    const note = found && decodeNote(found.metadata);
    return note?.term === term ? { note, noteAgeMs: found?.ageMs ?? 0 } : undefined;
  }
}
