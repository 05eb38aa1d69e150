import { checkCandidates, environmentBlocks } from "@leasehold/infra-terrain";
import { Token } from "cdktn";
import { Construct } from "constructs";
import { candidateEnvironment } from "./candidate-environment.ts";
import type { CandidateProps } from "./candidate-props.ts";
import type { ServiceAccount } from "./google/iam.ts";
import { CloudRunWorkerPool } from "./google/run.ts";
import { checkAccountId, checkServiceName, ownAccount } from "./own-account.ts";

export interface CandidateWorkerProps extends CandidateProps {
  /** The elections in which its candidates compete. Their program finds the first in `ELECTION`. */
  readonly elections: readonly string[];
  /** 1 to 49 lower-case letters, digits and hyphens. */
  readonly name: string;
  /**
   * 6 to 30 lower-case letters, digits and hyphens; of its service account. A project has it once: two regions need one each.
   * @default - the name
   */
  readonly accountId?: string;
  /** A region of Cloud Run, near the database. */
  readonly location: string;
  /** @default 2: one leads, one stands by */
  readonly candidates?: number;
  /**
   * The elector's own `drainTimeoutMs`, whose default of 15_000 does not fit. Its program finds it in `DRAIN_TIMEOUT_MS`.
   * @default 8_000
   */
  readonly drainTimeoutMs?: number;
  /** @default "1" */
  readonly cpu?: string;
  /** @default "512Mi" */
  readonly memory?: string;
}

/** From SIGTERM to SIGKILL, which nobody can change: https://cloud.google.com/run/docs/container-contract#instance-shutdown */
const GRACE_MS = 10_000;
/** The time left, after the task has settled, for giving the lease up. */
const RELEASE_MS = 1_500;

/**
 * A Cloud Run worker pool whose instances are candidates, with a service account of its own. An instance of a pool has
 * its processor all the time, whereas one of a service has it between requests only on demand (`cpu_idle`): a leader
 * without it cannot renew.
 */
export class CandidateWorker extends Construct {
  readonly project: string;
  readonly name: string;
  readonly location: string;
  readonly serviceAccount: ServiceAccount;
  readonly pool: CloudRunWorkerPool;

  /** @throws {Error} for a drain longer than Cloud Run waits, for elections, names or numbers that cannot be. */
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
    this.pool = new CloudRunWorkerPool(
      this,
      "Pool",
      {
        project,
        name,
        location,
        // There is nothing in it that could be lost.
        deletion_protection: false,
        scaling: { manual_instance_count: candidates },
        template: {
          service_account: this.serviceAccount.email,
          containers: [
            {
              image,
              command: props.command,
              env: environmentBlocks(
                candidateEnvironment(leases, elections, { DRAIN_TIMEOUT_MS: String(drainTimeoutMs) }, props.environment),
              ),
              resources: { limits: { cpu: props.cpu ?? "1", memory: props.memory ?? "512Mi" } },
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
