import { checkCandidates } from "@leasehold/infra-terrain";
import { Token } from "cdktn";
import { Construct } from "constructs";
import type { ManagedIdentity } from "./azurerm/access.ts";
import { ContainerApp } from "./azurerm/container-apps.ts";
import { candidateParts } from "./candidate-parts.ts";
import type { CandidateProps } from "./candidate-props.ts";

export interface CandidateAppProps extends CandidateProps {
  /** @default 2: one leads, one is a standby */
  readonly candidates?: number;
  /**
   * The elector's `drainTimeoutMs`, which the program finds in `DRAIN_TIMEOUT_MS`. Azure kills a replica 15 s after this time.
   * @default 15_000, the same as the elector's
   */
  readonly drainTimeoutMs?: number;
}

/** The time after the task has settled, in which the lease is released and the process ends. */
const RELEASE_SECONDS = 15;
/** https://learn.microsoft.com/azure/container-apps/application-lifecycle-management#shutdown */
const MAX_GRACE_SECONDS = 600;

/** A Container App without ingress whose replicas are candidates. They always have a processor. */
export class CandidateApp extends Construct {
  readonly identity: ManagedIdentity;
  readonly app: ContainerApp;
  /** The workspace that collects the candidates' output. */
  readonly workspaceId: string;

  /** @throws {Error} for a drain longer than Azure waits, and for invalid names, elections or numbers. */
  constructor(scope: Construct, id: string, props: CandidateAppProps) {
    super(scope, id);
    const { resourceGroup, name, candidates = 2, drainTimeoutMs = 15_000 } = props;
    checkCandidates(this, candidates);
    const grace = graceSeconds(drainTimeoutMs);
    const { identity, environment, args, container, rights } = candidateParts(this, props, {
      DRAIN_TIMEOUT_MS: String(drainTimeoutMs),
    });
    this.identity = identity;
    this.workspaceId = environment.workspaceId;
    this.app = new ContainerApp(
      this,
      "App",
      {
        ...args,
        name,
        resource_group_name: resourceGroup.name,
        // Keep one revision, because two would double the candidates. An old one that is kept would do so for ever.
        revision_mode: "Single",
        template: {
          min_replicas: candidates,
          max_replicas: candidates,
          termination_grace_period_seconds: grace,
          container: [container],
        },
      },
      { dependsOn: [...rights] },
    );
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
