import type { LeaseStoreCapabilities } from "@leasehold/core";
import {
  type CheckOptions,
  type CheckReport,
  type PauseOptions,
  type PauseOutcome,
  type TransferOptions,
  type TransferOutcome,
  checkName,
  DEFAULT_REQUEST_TIMEOUT_MS,
  RecordLeaseStore,
  sendRequest,
  systemClock,
  type Clock,
} from "@leasehold/core/provider";
import { HttpTransport } from "./http-transport.ts";
import { KubernetesRecordStore } from "./kubernetes-record-store.ts";
import { cannotBind, checkElection } from "./lease-object.ts";
import { checkedOptions, type KubernetesLeaseStoreOptions } from "./options.ts";
import { missingRights } from "./rights.ts";
import type { ApiTransport } from "./transport.ts";

/**
 * Stores each election in one Lease of `coordination.k8s.io/v1`, in the fields that Kubernetes' own components use. So programs
 * with client-go can be candidates of the same election.
 *
 * `spec.leaseTransitions` is the term. An annotation contains the parts of the record for which `spec` has no field. It counts
 * only beside the `spec` that it was written with. A client-go holder writes no annotation, so its record lacks these parts.
 *
 * Kubernetes has no fence: no write elsewhere can depend on a Lease. Among Leasehold's candidates its promises hold. **A
 * client-go holder trusts its own clock**, and counts its lease from after a reply. So it may overlap the next leader by the time
 * of one request. Terms of client-go may repeat: a candidate keeps the term when it takes its own Lease back, and begins at 0
 * after a deletion.
 */
export class KubernetesLeaseStore extends RecordLeaseStore {
  declare readonly capabilities: LeaseStoreCapabilities;
  readonly #transport: ApiTransport;
  readonly #clock: Clock;
  readonly #namespace: string;
  readonly #goCandidates: boolean;

  /** Sends nothing. @throws {ConfigurationError} for options that cannot work, such as a kubeconfig with a proxy-url. */
  constructor(options: KubernetesLeaseStoreOptions = {}) {
    const { clock = systemClock } = options;
    const { access, namespace, goCandidates } = checkedOptions(options, clock);
    const transport = new HttpTransport(access);
    super(new KubernetesRecordStore(transport, namespace, clock), { clock });
    if (goCandidates) this.capabilities = { ...this.capabilities, pause: false, transfer: undefined };
    this.#transport = transport;
    this.#clock = clock;
    this.#namespace = namespace;
    this.#goCandidates = goCandidates;
  }

  /** Does what {@link LeaseStore.check} does. Unless `settings` is false, also does what {@link inspect} does. */
  override async check(options: CheckOptions): Promise<CheckReport> {
    const report = await super.check(options);
    return options.settings === false ? report : { ...report, warnings: await this.inspect(options) };
  }

  /** Implements {@link LeaseStore.inspect}: returns a warning for each right that a candidate needs and the account lacks. */
  async inspect(options: CheckOptions): Promise<readonly string[]> {
    const { election, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
    checkName("election", election);
    checkElection(election);
    const label = { operation: "check", election, writes: false };
    const request = { clock: this.#clock, store: this.name, ...label, timeoutMs, signal };
    const target = { namespace: this.#namespace, election };
    return await sendRequest(request, async (abandoned) => await missingRights(this.#transport, target, abandoned));
  }

  /** @throws {UnsupportedError} with `goCandidates`, and while a client-go holder has the Lease. */
  override async pause(election: string, options: PauseOptions): Promise<PauseOutcome> {
    this.#checkAllOurs(election);
    return await super.pause(election, options);
  }

  /** @throws {UnsupportedError} with `goCandidates`, and while a client-go holder has the Lease. */
  override async transfer(election: string, candidateId: string, options?: TransferOptions): Promise<TransferOutcome> {
    this.#checkAllOurs(election);
    return await super.transfer(election, candidateId, options);
  }

  #checkAllOurs(election: string): void {
    checkName("election", election);
    if (this.#goCandidates) throw cannotBind(election);
  }
}
