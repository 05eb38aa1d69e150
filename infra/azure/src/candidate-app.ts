import { Annotations, Token } from "cdktn";
import { Construct } from "constructs";
import { ownIdentity, type ManagedIdentity } from "./access.ts";
import { candidateVariables } from "./candidate-variables.ts";
import type { LeaseContainer, ResourceGroupReference } from "./lease-container.ts";
import { checkCandidates, environmentBlocks, ProviderResource } from "../../terraform.ts";

export interface CandidateAppProps {
  /** The container of leases. */
  readonly leases: LeaseContainer;
  /** The elections in which its candidates compete. The program finds the first in `ELECTION`. */
  readonly elections: readonly string[];
  readonly resourceGroup: ResourceGroupReference;
  /** 2 to 32 lower-case letters, digits and single hyphens. Related resources are called `<name>-...`. */
  readonly name: string;
  /** An environment of Container Apps that sends its logs to Log Analytics. */
  readonly containerEnvironment: ContainerEnvironmentReference;
  /** The container's image, such as `acme.azurecr.io/billing:1`. */
  readonly image: string;
  /**
   * The registry of the image.
   * @default - the image is public
   */
  readonly registry?: RegistryReference;
  /**
   * The identity that the program runs as. It gets the grant for the elections.
   * @default - an identity of its own is made
   */
  readonly identity?: ManagedIdentity;
  /** @default 2: one leads, one is a standby */
  readonly candidates?: number;
  /**
   * The elector's `drainTimeoutMs`, which the program finds in `DRAIN_TIMEOUT_MS`. Azure kills a replica 15 s after this time.
   * @default 15_000, the same as the elector's
   */
  readonly drainTimeoutMs?: number;
  /** @default - the image's own */
  readonly command?: readonly string[];
  /** Further variables for your program. @default - only those that a candidate needs to find its leases */
  readonly environment?: Readonly<Record<string, string>>;
  /** @default 0.25 of a core */
  readonly cpu?: number;
  /** @default "0.5Gi" */
  readonly memory?: string;
}

/** An environment of Container Apps, by its ids. */
export interface ContainerEnvironmentReference {
  readonly id: string;
  /** The workspace of its logs. Alert rules query it. */
  readonly workspaceId: string;
}

/** A container registry, used without a password. */
export interface RegistryReference {
  /** Its login server: `acme.azurecr.io`. */
  readonly server: string;
  /**
   * The resource id of an identity that has `AcrPull` on the registry already. A right that is given in the same apply is too late:
   * Azure takes minutes to know it, and the first revision fails.
   */
  readonly identityId: string;
}

/** The time after the task has settled, in which the lease is released and the process ends. */
const RELEASE_SECONDS = 15;
/** https://learn.microsoft.com/azure/container-apps/application-lifecycle-management#shutdown */
const MAX_GRACE_SECONDS = 600;
/** The port on which a candidate answers probes. */
const HEALTH_PORT = 8080;

/** A Container App without ingress whose replicas are candidates. They always have a processor. */
export class CandidateApp extends Construct {
  readonly identity: ManagedIdentity;
  readonly app: ProviderResource;
  /** The workspace that collects the candidates' output. */
  readonly workspaceId: string;

  /** @throws {Error} for a drain longer than Azure waits, and for invalid names, elections or numbers. */
  constructor(scope: Construct, id: string, props: CandidateAppProps) {
    super(scope, id);
    const { leases, elections, resourceGroup, name, containerEnvironment, image, registry, candidates = 2 } = props;
    const { drainTimeoutMs = 15_000 } = props;
    checkAppName(name);
    checkCandidates(this, candidates);
    const grace = graceSeconds(drainTimeoutMs);
    if (!registry && /\.azurecr\.io\//.test(image)) {
      Annotations.of(this).addWarning(
        `The image ${image} is in a registry of Azure, and registry is not set: only a registry that anybody may read lets it be pulled.`,
      );
    }
    this.identity = props.identity ?? ownIdentity(this, name, resourceGroup);
    this.workspaceId = containerEnvironment.workspaceId;
    const mayCompete = leases.grantCandidate(this.identity, ...elections);
    const variables = {
      ...candidateVariables(leases, this.identity, elections),
      DRAIN_TIMEOUT_MS: String(drainTimeoutMs),
      HEALTH_PORT: String(HEALTH_PORT),
    };
    this.app = new ProviderResource(
      this,
      "App",
      "azurerm_container_app",
      {
        name,
        resource_group_name: resourceGroup.name,
        container_app_environment_id: containerEnvironment.id,
        identity: { type: "UserAssigned", identity_ids: [this.identity.id, ...(registry ? [registry.identityId] : [])] },
        ...(registry ? { registry: [{ server: registry.server, identity: registry.identityId }] } : {}),
        // Keep one revision, because two would double the candidates. An old one that is kept would do so for ever.
        revision_mode: "Single",
        template: {
          min_replicas: candidates,
          max_replicas: candidates,
          termination_grace_period_seconds: grace,
          container: [
            {
              name: "candidate",
              image,
              cpu: props.cpu ?? 0.25,
              memory: props.memory ?? "0.5Gi",
              command: props.command,
              env: environmentBlocks(variables, props.environment),
              // Restart a replica whose event loop hangs. The path answers without the store, because an outage is no reason to.
              liveness_probe: [
                { transport: "HTTP", port: HEALTH_PORT, path: "/live", interval_seconds: 10, failure_count_threshold: 3 },
              ],
            },
          ],
        },
      },
      { dependsOn: [mayCompete] },
    );
  }
}

/** https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftapp */
function checkAppName(name: string): void {
  if (Token.isUnresolved(name) || /^(?=.{2,32}$)[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) return;
  throw new Error(
    `name is ${JSON.stringify(name)}; it must have 2 to 32 lower-case letters, digits and single hyphens, and begin with a letter.`,
  );
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
