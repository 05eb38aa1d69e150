import { checkCandidates, environmentBlocks } from "@leasehold/infra-terrain";
import { Token } from "cdktn";
import { Construct } from "constructs";
import { ContainerApp, ContainerAppEnvironment, LogAnalyticsWorkspace, UserAssignedIdentity } from "./azurerm.ts";
import { candidateEnvironment } from "./candidate-environment.ts";
import type { LeaseContainer, ResourceGroupReference } from "./lease-container.ts";

export interface CandidateAppProps {
  /** Where the leases are. */
  readonly leases: LeaseContainer;
  /** The elections in which its candidates compete. */
  readonly elections: readonly string[];
  readonly resourceGroup: ResourceGroupReference;
  /** 2 to 32 lower-case letters, digits and hyphens; also of what is made around it. */
  readonly name: string;
  /** The container's image, such as `registry.example/billing:1`. */
  readonly image: string;
  /**
   * A registry that is read as the app's identity, which you let read it (AcrPull).
   * @default - the image is public
   */
  readonly registryServer?: string;
  /** @default - the image's own */
  readonly command?: readonly string[];
  /** @default - what a candidate needs to find its leases alone */
  readonly environment?: Readonly<Record<string, string>>;
  /** @default 2: one leads, one stands by */
  readonly candidates?: number;
  /**
   * The elector's own `drainTimeoutMs`. A replica gets this and 15 s before it is killed.
   * @default 15_000, which is the elector's
   */
  readonly drainTimeoutMs?: number;
  /** @default 0.25 of a core */
  readonly cpu?: number;
  /** @default "0.5Gi" */
  readonly memory?: string;
  /**
   * An environment for container apps that there is already.
   * @default - one is made, with a workspace for its logs
   */
  readonly environmentId?: string;
}

/** The time left, after the task has settled, for giving the lease up and for ending the process. */
const RELEASE_SECONDS = 15;
/** https://learn.microsoft.com/azure/container-apps/application-lifecycle-management#shutdown */
const MAX_GRACE_SECONDS = 600;
const LOG_DAYS = 30;

/** A Container App without ingress whose replicas are candidates, with an identity of its own. They always have a processor. */
export class CandidateApp extends Construct {
  readonly identity: UserAssignedIdentity;
  readonly app: ContainerApp;

  /** @throws {Error} for a drain longer than Azure waits, for elections or numbers that cannot be. */
  constructor(scope: Construct, id: string, props: CandidateAppProps) {
    super(scope, id);
    const { leases, elections, resourceGroup, name, image, candidates = 2, drainTimeoutMs = 15_000 } = props;
    checkCandidates(this, candidates);
    const place = { resource_group_name: resourceGroup.name, location: resourceGroup.location };

    this.identity = new UserAssignedIdentity(this, "Identity", { ...place, name });
    const grant = leases.grantCandidate(this.identity, ...elections);
    this.app = new ContainerApp(
      this,
      "App",
      {
        name,
        resource_group_name: resourceGroup.name,
        container_app_environment_id: props.environmentId ?? this.#environment(name, place).id,
        // One revision at a time: two would double the candidates, for ever if the old one were kept.
        revision_mode: "Single",
        identity: { type: "UserAssigned", identity_ids: [this.identity.id] },
        ...(props.registryServer ? { registry: [{ server: props.registryServer, identity: this.identity.id }] } : {}),
        template: {
          min_replicas: candidates,
          max_replicas: candidates,
          termination_grace_period_seconds: graceSeconds(drainTimeoutMs),
          container: [
            {
              name: "candidate",
              image,
              cpu: props.cpu ?? 0.25,
              memory: props.memory ?? "0.5Gi",
              command: props.command,
              env: environmentBlocks({ ...candidateEnvironment(leases, this.identity), ...props.environment }),
            },
          ],
        },
      },
      { dependsOn: [grant] },
    );
  }

  #environment(name: string, place: { resource_group_name: string; location: string }): ContainerAppEnvironment {
    const logs = new LogAnalyticsWorkspace(this, "Logs", { ...place, name, sku: "PerGB2018", retention_in_days: LOG_DAYS });
    return new ContainerAppEnvironment(this, "Environment", {
      ...place,
      name,
      logs_destination: "log-analytics",
      log_analytics_workspace_id: logs.id,
    });
  }
}

function graceSeconds(drainTimeoutMs: number): number {
  if (Token.isUnresolved(drainTimeoutMs)) {
    throw new Error("drainTimeoutMs is not known when this is synthesized, and so no grace period can be made of it.");
  }
  const seconds = Math.ceil(drainTimeoutMs / 1_000) + RELEASE_SECONDS;
  if (drainTimeoutMs >= 0 && seconds <= MAX_GRACE_SECONDS) return seconds;
  throw new Error(
    `drainTimeoutMs is ${drainTimeoutMs}. With ${RELEASE_SECONDS} s for the release it must fit into the ${MAX_GRACE_SECONDS} s after which ` +
      "Container Apps kill a replica: choose 0 to 585_000, or make the task shorter.",
  );
}
