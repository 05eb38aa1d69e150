import type { LeaseRecord, RecordStore } from "@leasehold/core/provider";
import type { AcceptedWrite, Network, ProcessClock, VirtualClock } from "@leasehold/core/testing";
import { KubernetesApi } from "@leasehold/test-kit/simulated/kubernetes-api";
import type { LeaseObject } from "@leasehold/test-kit/simulated/kubernetes-objects";
import { simulatedTransport } from "@leasehold/test-kit/simulated/kubernetes-transport";
import { KubernetesRecordStore } from "../../../../packages/kubernetes/src/kubernetes-record-store.ts";
import { ANNOTATION, storedOf } from "../../../../packages/kubernetes/src/lease-object.ts";
import { failureOf } from "../../../../packages/kubernetes/src/transport.ts";
import type { RecordService } from "./record-store.ts";

/** A Kubernetes API server in virtual time, as the real provider reaches it. Its cache lags behind each write. */
export class KubernetesService implements RecordService {
  onAccepted: ((write: AcceptedWrite) => void) | undefined;
  readonly #world: VirtualClock;
  readonly #api = new KubernetesApi();
  /** The time at which the request was sent that is carried out; `undefined` while no process has sent one. */
  #sentMs: number | undefined;

  constructor(world: VirtualClock) {
    this.#world = world;
    this.#api.cacheLags = true;
    this.#api.onWritten = (before, after) => {
      if (this.#sentMs === undefined) return;
      const election = after.metadata.name;
      const times = { atMs: world.monotonicMs(), sentMs: this.#sentMs };
      this.onAccepted?.({ election, before: before && recordOf(before), record: recordOf(after), ...times });
    };
  }

  connect(process: ProcessClock, network: Network): RecordStore {
    const onArrival = (sentMs: number): void => {
      this.#sentMs = sentMs;
    };
    const transport = simulatedTransport({ api: this.#api, world: this.#world, process, network, failureOf, onArrival });
    return new KubernetesRecordStore(transport, "default", process);
  }

  /** A resource elsewhere that asks for the lease in the same moment. Kubernetes itself has no fence. */
  admits(election: string, { term, termId }: { readonly term: number; readonly termId: string }): boolean {
    const lease = this.#api.lease(election);
    const record = lease && recordOf(lease);
    return record?.term === term && record.termId === termId && !record.broken;
  }

  overwrite(election: string, data: unknown): void {
    const spec = this.#api.lease(election)?.spec ?? {};
    const { holderIdentity = "", leaseTransitions = 0, acquireTime = null, renewTime = null } = spec;
    const annotation = JSON.stringify({ of: [holderIdentity, leaseTransitions, acquireTime, renewTime], record: data });
    const metadata = { ...this.#api.lease(election)?.metadata, annotations: { [ANNOTATION]: annotation } };
    this.#sentMs = undefined;
    this.#api.overwrite(election, { metadata: metadata as LeaseObject["metadata"] });
  }
}

function recordOf(lease: LeaseObject): LeaseRecord {
  return storedOf(lease).data as LeaseRecord;
}
