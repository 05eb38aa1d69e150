import { carry, type Network, type ProcessClock, type VirtualClock } from "@leasehold/core/testing";
import { SimulatedService } from "@leasehold/test-kit/simulated/dynamodb-service";
import {
  ELECTION,
  FASTEST_RATE,
  newServiceView,
  type Claim,
  type RequestFailure,
  type ServiceView,
  type SimulatedStore,
  type StoreAccess,
} from "./simulated-store.ts";

type Item = NonNullable<ReturnType<SimulatedService["item"]>>;

/** DynamoDB with its own SDK: the real `DynamoDBLeaseStore`. Only `Date` headers bound its store time. */
export class SimulatedDynamoDB implements SimulatedStore {
  readonly view: ServiceView = newServiceView();
  readonly keepsOccurrences: boolean = true;
  readonly #world: VirtualClock;
  readonly #service: SimulatedService;
  readonly #hostOffsetMs: () => number;

  /** @param hostOffsetMs the offset of the answering machine's clock from the service's own, drawn anew for each reply. */
  constructor(world: VirtualClock, hostOffsetMs: () => number) {
    this.#world = world;
    this.#service = new SimulatedService(world);
    this.#hostOffsetMs = hostOffsetMs;
    this.#service.onUpdated = (before, item) => {
      const entry = item["entry"]?.S ?? "";
      if (entry !== "lease") return this.view.claimed(entry.replace("tick#", ""), before && claimOf(before), claimOf(item));
      const termId = item["termId"]?.S;
      if (item["election"]?.S !== ELECTION) return;
      if (termId !== undefined && termId !== before?.["termId"]?.S) {
        const wasHeld = before?.["termId"]?.S !== undefined;
        this.view.granted({
          term: Number(item["term"]?.N),
          termId,
          candidateId: item["candidateId"]?.S ?? "",
          barredUntilMs: wasHeld ? this.#endsMs(before) : -Infinity,
          heldBy: before?.["candidateId"]?.S,
        });
      }
    };
  }

  get held(): boolean {
    return this.#service.item(ELECTION)?.["termId"]?.S !== undefined;
  }

  connect(process: ProcessClock, network: Network): StoreAccess {
    const store = this.#service.store(process, { network, hostOffsetMs: this.#hostOffsetMs });
    return {
      store,
      seal: () => Promise.resolve(),
      write: (leadership, entry) => {
        const { ConditionCheck } = store.fence(leadership);
        return carry(this.#world, process, network({ operation: "write" }), () => {
          if (!this.#service.admits(ConditionCheck)) throw new Error("The service refuses the write.");
          this.view.wrote({ term: leadership.term, entry });
        });
      },
    };
  }

  barredUntilMs(termId: string): number {
    const item = this.#service.item(ELECTION);
    if (item?.["termId"]?.S !== termId) return -Infinity;
    return this.#endsMs(item);
  }

  #endsMs(item: NonNullable<ReturnType<SimulatedService["item"]>>): number {
    const sentMs = this.#service.sentMs.get(item["nonce"]?.S ?? "") ?? -Infinity;
    return sentMs + Number(item["leaseDurationMs"]?.N) / FASTEST_RATE;
  }

  stepClock(ms: number): void {
    this.#service.step(ms);
  }

  failOver(aheadMs: number): void {
    this.#service.step(aheadMs);
  }

  failure(how: RequestFailure, _: string, retryAfterMs: number): Error {
    if (how === "denied") {
      const $metadata = { httpStatusCode: 400, requestId: "R" };
      return Object.assign(new Error("You may not"), { name: "AccessDeniedException", $metadata });
    }
    if (how !== "throttled") return Object.assign(new Error(how), { code: how === "reset" ? "ECONNRESET" : "ECONNREFUSED" });
    return Object.assign(new Error("Slow down"), {
      name: "ThrottlingException",
      $metadata: { httpStatusCode: 400, requestId: "R" },
      $response: { headers: { "retry-after": String(retryAfterMs / 1_000) } },
    });
  }

  corrupt(): (() => void) | undefined {
    const sound = this.#service.item(ELECTION);
    if (!sound) return undefined;
    this.#service.setItem(ELECTION, { ...sound, version: { S: "corrupt" }, term: { S: "seven" } });
    return () => this.#service.setItem(ELECTION, { ...sound, version: { S: "restored" } });
  }
}

function claimOf({ term, termId, done }: Item): Claim {
  return { term: Number(term?.N), termId: termId?.S ?? null, done: done?.BOOL ?? false };
}
