import { UnsupportedError, type LeaseStore, type ListedElection } from "@leasehold/core";
import { summarizeError } from "@leasehold/core/diagnostics";
import type { Clock } from "@leasehold/core/provider";
import { barText, listedElections } from "../snapshots.ts";
import { printable } from "../text.ts";
import type { ElectionView } from "./candidate.ts";
import { SeenTerms } from "./seen-terms.ts";
import { Watch } from "./watch.ts";

/** The pause between two lists. Some stores charge a list by the size of the whole table. */
const PERIOD_MS = 5_000;
/** Requests within this time share one list. */
const SHARED_MS = 1_000;

/** Every election of a store as it was listed last, and whether the store still answers. */
export interface ElectionList {
  readonly elections: readonly ElectionView[];
  readonly store: ElectionView["store"];
}

/** Lists every election of a store: for as long as somebody follows them, and once for a request. */
export class ElectionWatch extends Watch<ElectionList> implements Disposable {
  readonly #store: LeaseStore;
  readonly #ended = new AbortController();
  #found: readonly ListedElection[] = [];
  #foundMs: number | undefined;
  #terms: ReadonlyMap<string, SeenTerms> = new Map();
  #listing = Promise.resolve();
  #isListing = false;
  #sentMs = -Infinity;

  /** @throws {UnsupportedError} if the store cannot list elections. */
  constructor(store: LeaseStore, clock: Clock) {
    super(clock, PERIOD_MS);
    this.#store = store;
    if (store.capabilities.list) return;
    throw new UnsupportedError(
      `${store.name} cannot list its elections. Name each by --election NAME, or one by the variable LEASEHOLD_ELECTION.`,
    );
  }

  [Symbol.dispose](): void {
    this.stop();
    this.#ended.abort();
  }

  /** Returns every election, by a list that was sent less than a second ago, or is under way. @throws as the store does. */
  async elections(): Promise<readonly ElectionView[]> {
    await this.#list();
    return this.#view().elections;
  }

  protected override async *read(): AsyncGenerator<ElectionList> {
    const lastError = await this.#list().then(() => undefined, summarizeError);
    yield this.#view(lastError);
  }

  async #list(): Promise<void> {
    const nowMs = this.clock.monotonicMs();
    if (!this.#isListing && nowMs - this.#sentMs >= SHARED_MS) {
      this.#sentMs = nowMs;
      this.#isListing = true;
      this.#listing = this.#send().finally(() => (this.#isListing = false));
    }
    await this.#listing;
  }

  async #send(): Promise<void> {
    this.#found = await listedElections(this.#store, undefined, this.#ended.signal);
    this.#foundMs = this.clock.monotonicMs();
    this.#terms = new Map(this.#found.map((found) => [found.election, this.#termsOf(found, this.clock.monotonicMs())]));
  }

  #termsOf(found: ListedElection, nowMs: number): SeenTerms {
    const terms = this.#terms.get(found.election) ?? new SeenTerms();
    if (found.state === "foreign" || found.state === "unknown") return terms;
    terms.saw(leaderOf(found), nowMs);
    terms.recall(found.history ?? [], nowMs, this.clock.wallMs());
    return terms;
  }

  #view(lastError?: ElectionView["store"]["lastError"]): ElectionList {
    const nowMs = this.clock.monotonicMs();
    const sinceMs = this.#foundMs === undefined ? undefined : nowMs - this.#foundMs;
    const store = { ...(sinceMs === undefined ? {} : { lastContactAgeMs: sinceMs }), ...(lastError ? { lastError } : {}) };
    const elections = this.#found.map((found) => ({
      ...viewOf(found, sinceMs ?? 0),
      terms: this.#terms.get(found.election)?.at(nowMs) ?? [],
      store,
    }));
    return { elections, store };
  }
}

/** Returns a listed election after some time. Its leader is not known any more once the lease may have run out. */
function viewOf(found: ListedElection, sinceMs: number): Omit<ElectionView, "terms" | "store"> {
  const { election, state } = found;
  const lease = { election, lease: state, leader: null };
  if (found.state === "foreign") return { ...lease, known: false, note: printable(found.problem) };
  const { bar, holder, ageMs, leaseDurationMs } = found;
  const listed = leaderOf(found);
  const leaseAgeMs = listed && ageMs ? ageMs[0] + sinceMs : undefined;
  const isOld = (leaseAgeMs ?? 0) > (leaseDurationMs ?? Infinity);
  const leader = isOld ? undefined : listed;
  const last = holder === undefined || leader ? [] : [`last led by ${printable(holder)}`];
  const note = [...last, barText(found)].filter((text) => text !== "").join(", ");
  return {
    ...lease,
    leader: leader ?? null,
    known: found.state !== "unknown" && !isOld,
    ...(leaseAgeMs === undefined || leaseDurationMs === undefined ? {} : { leaseAgeMs, leaseDurationMs }),
    ...(note === "" ? {} : { note }),
    ...(bar?.kind === "done" ? { done: true } : {}),
  };
}

function leaderOf(found: ListedElection): Exclude<ElectionView["leader"], null> | undefined {
  if (found.state !== "held" && found.state !== "ending") return undefined;
  const { holder: candidateId, term, value } = found;
  return candidateId === undefined ? undefined : { candidateId, term, ...(value === undefined ? {} : { value }) };
}
