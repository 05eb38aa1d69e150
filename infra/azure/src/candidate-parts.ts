import { environmentBlocks } from "@leasehold/infra-terrain";
import { Token, type ITerraformDependable } from "cdktn";
import type { Construct } from "constructs";
import { RoleAssignment, UserAssignedIdentity, type ManagedIdentity } from "./azurerm/access.ts";
import type { ContainerArguments, ContainerBlock } from "./azurerm/container-apps.ts";
import type { CandidateProps } from "./candidate-props.ts";
import { candidateVariables, withOwnVariables } from "./candidate-variables.ts";
import { ContainerEnvironment, type ContainerEnvironmentReference } from "./container-environment.ts";

/** The parts that an app and a job of candidates have in common. */
export interface CandidateParts {
  readonly identity: ManagedIdentity;
  readonly environment: ContainerEnvironmentReference;
  readonly args: ContainerArguments;
  readonly container: ContainerBlock;
  /** The role assignments that have to exist before a container starts: to compete, and to pull the image. */
  readonly rights: readonly ITerraformDependable[];
}

/** @param variables further environment variables, besides those of the leases. @throws {Error} for names that Azure refuses. */
export function candidateParts(
  scope: Construct,
  props: CandidateProps,
  variables: Readonly<Record<string, string>>,
): CandidateParts {
  const { leases, elections, resourceGroup, name, registry } = props;
  checkAppName(name);
  const place = { resource_group_name: resourceGroup.name, location: resourceGroup.location };
  const identity = props.identity ?? new UserAssignedIdentity(scope, "Identity", { ...place, name: `${name}-identity` });
  const environment = props.containerEnvironment ?? new ContainerEnvironment(scope, "Environment", { resourceGroup, name });
  const rights: ITerraformDependable[] = [leases.grantCandidate(identity, ...elections)];
  if (registry?.id !== undefined) {
    rights.push(
      new RoleAssignment(scope, "Pull", {
        scope: registry.id,
        principal_id: identity.principalId,
        principal_type: "ServicePrincipal",
        role_definition_name: "AcrPull",
      }),
    );
  }
  const env = withOwnVariables({ ...candidateVariables(leases, identity, elections), ...variables }, props.environment);
  return {
    identity,
    environment,
    rights,
    args: {
      container_app_environment_id: environment.id,
      identity: { type: "UserAssigned", identity_ids: [identity.id] },
      ...(registry ? { registry: [{ server: registry.server, identity: identity.id }] } : {}),
    },
    container: {
      name: "candidate",
      image: props.image,
      cpu: props.cpu ?? 0.25,
      memory: props.memory ?? "0.5Gi",
      command: props.command,
      env: environmentBlocks(env),
    },
  };
}

/** https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftapp */
export function checkAppName(name: string): void {
  if (Token.isUnresolved(name) || /^(?=.{2,32}$)[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) return;
  throw new Error(
    `name is ${JSON.stringify(name)}; it must have 2 to 32 lower-case letters, digits and single hyphens, and begin with a letter.`,
  );
}
