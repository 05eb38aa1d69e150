import { Token } from "cdktn";
import { Construct } from "constructs";
import { candidateEnvironment, type CandidateProps } from "./candidate-props.ts";
import { checkAccountId, checkServiceName, ownAccount, type ServiceAccount } from "./own-account.ts";
import { checkCandidates, ProviderResource } from "../../terraform.ts";

export interface CandidateWorkerProps extends CandidateProps {
  /** 1 to 49 lower-case letters, digits and hyphens. */
  readonly name: string;
  /**
   * The service account's id: 6 to 30 lower-case letters, digits and hyphens. It is unique in a project, so two regions need
   * different ones.
   * @default - the name
   */
  readonly accountId?: string;
  /** @default 2: one leads, one is a standby */
  readonly candidates?: number;
  /**
   * The elector's `drainTimeoutMs`. The elector's default of 15_000 is too long here. The program finds it in `DRAIN_TIMEOUT_MS`.
   * @default 8_000
   */
  readonly drainTimeoutMs?: number;
  /** @default "1" */
  readonly cpu?: string;
  /** @default "512Mi" */
  readonly memory?: string;
}

/**
 * The time from SIGTERM to SIGKILL. It cannot be changed: https://cloud.google.com/run/docs/container-contract#instance-shutdown
 */
const GRACE_MS = 10_000;
/** The time after the task has settled, in which the lease is released. */
const RELEASE_MS = 1_500;
/** The port on which a candidate answers probes. */
const HEALTH_PORT = 8080;

/**
 * A Cloud Run worker pool whose instances are candidates, with a service account of its own. An instance of a pool always has its
 * processor. An instance of a service has it between requests only if `cpu_idle` is off. A leader without a processor cannot
 * renew.
 */
export class CandidateWorker extends Construct {
  readonly project: string;
  readonly name: string;
  readonly location: string;
  readonly serviceAccount: ServiceAccount;
  readonly pool: ProviderResource;

  /** @throws {Error} for a drain longer than Cloud Run waits, and for invalid elections, names or numbers. */
  constructor(scope: Construct, id: string, props: CandidateWorkerProps) {
    super(scope, id);
    const { leases, elections, name, accountId = name, location, image, candidates = 2, drainTimeoutMs = 8_000 } = props;
    const { project } = leases;
    checkServiceName(name);
    checkAccountId(accountId, 30);
    checkCandidates(this, candidates);
    checkDrain(drainTimeoutMs);

    this.project = project;
    this.name = name;
    this.location = location;
    this.serviceAccount = ownAccount(this, "ServiceAccount", { project, accountId, displayName: `Candidates of ${name}` });
    const grant = leases.grantCandidate(this.serviceAccount, ...elections);
    this.pool = new ProviderResource(
      this,
      "Pool",
      "google_cloud_run_v2_worker_pool",
      {
        project,
        name,
        location,
        // The pool contains no data, so its deletion loses nothing.
        deletion_protection: false,
        scaling: { manual_instance_count: candidates },
        template: {
          service_account: this.serviceAccount.email,
          containers: [
            {
              image,
              command: props.command,
              env: candidateEnvironment(props, {
                DRAIN_TIMEOUT_MS: String(drainTimeoutMs),
                HEALTH_PORT: String(HEALTH_PORT),
              }),
              resources: { limits: { cpu: props.cpu ?? "1", memory: props.memory ?? "512Mi" } },
              // Restart an instance whose event loop hangs. The path answers without the store, because an outage is no reason to.
              liveness_probe: { http_get: { path: "/live", port: HEALTH_PORT }, period_seconds: 10, failure_threshold: 3 },
            },
          ],
        },
      },
      { dependsOn: [grant, leases.database] },
    );
  }
}

function checkDrain(drainTimeoutMs: number): void {
  if (Token.isUnresolved(drainTimeoutMs)) throw new Error("drainTimeoutMs is not known when this is synthesized; it must be.");
  const most = GRACE_MS - RELEASE_MS;
  if (drainTimeoutMs >= 0 && drainTimeoutMs <= most) return;
  throw new Error(
    `drainTimeoutMs is ${drainTimeoutMs}. Cloud Run kills an instance ${GRACE_MS} ms after SIGTERM, and the release takes its time: ` +
      `choose 0 to ${most}, or run candidates that drain longer elsewhere.`,
  );
}
