import { checkCandidates, environmentBlocks } from "@leasehold/infra-terrain";
import { Token } from "cdktn";
import { Construct } from "constructs";
import { candidateEnvironment } from "./candidate-environment.ts";
import { CloudRunWorkerPool, ServiceAccount } from "./google.ts";
import type { LeaseDatabase } from "./lease-database.ts";
import { checkServiceName } from "./service-name.ts";

export interface CandidateWorkerProps {
  /** Where the leases are. */
  readonly leases: LeaseDatabase;
  /** The elections in which its candidates compete. */
  readonly elections: readonly string[];
  /** 6 to 30 lower-case letters, digits and hyphens; also of its service account. */
  readonly name: string;
  /** A region of Cloud Run, near the database. */
  readonly location: string;
  /** The container's image. It needs to listen on no port. */
  readonly image: string;
  /** @default - the image's own */
  readonly command?: readonly string[];
  /** @default - what a candidate needs to find its leases alone */
  readonly environment?: Readonly<Record<string, string>>;
  /** @default 2: one leads, one stands by */
  readonly candidates?: number;
  /**
   * The elector's own `drainTimeoutMs`, which has to be given to it as well: its default of 15_000 does not fit.
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
  readonly serviceAccount: ServiceAccount;
  readonly pool: CloudRunWorkerPool;

  /** @throws {Error} for a drain longer than Cloud Run waits, for elections, names or numbers that cannot be. */
  constructor(scope: Construct, id: string, props: CandidateWorkerProps) {
    super(scope, id);
    const { leases, elections, name, location, image, candidates = 2, drainTimeoutMs = 8_000 } = props;
    const { project } = leases;
    checkServiceName(name, 30);
    checkCandidates(this, candidates);
    checkDrain(drainTimeoutMs);

    this.serviceAccount = new ServiceAccount(this, "ServiceAccount", {
      project,
      account_id: name,
      display_name: `Candidates of ${name}`,
    });
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
              env: environmentBlocks({ ...candidateEnvironment(leases), ...props.environment }),
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
  if (Token.isUnresolved(drainTimeoutMs)) return;
  const most = GRACE_MS - RELEASE_MS;
  if (drainTimeoutMs >= 0 && drainTimeoutMs <= most) return;
  throw new Error(
    `drainTimeoutMs is ${drainTimeoutMs}. Cloud Run kills an instance ${GRACE_MS} ms after SIGTERM, and the release takes its time: ` +
      `choose 0 to ${most}, for the elector too, or run candidates that drain longer elsewhere.`,
  );
}
