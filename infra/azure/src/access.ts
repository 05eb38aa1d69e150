import type { Construct } from "constructs";
import type { ResourceGroupReference } from "./lease-container.ts";
import { ProviderResource } from "../../terraform.ts";

/** A managed identity, by its ids. */
export interface ManagedIdentity {
  /** The resource's id. */
  readonly id: string;
  readonly clientId: string;
  readonly principalId: string;
}

/** Makes an identity for one construct only. */
export function ownIdentity(scope: Construct, name: string, group: ResourceGroupReference): ManagedIdentity {
  const identity = new ProviderResource(scope, "Identity", "azurerm_user_assigned_identity", {
    name: `${name}-identity`,
    resource_group_name: group.name,
    location: group.location,
  });
  return { id: identity.id, clientId: identity.attribute("client_id"), principalId: identity.attribute("principal_id") };
}

/** Gives an identity one of Azure's own roles. */
export function assignRole(
  scope: Construct,
  id: string,
  role: string,
  on: string,
  { principalId }: ManagedIdentity,
): ProviderResource {
  return new ProviderResource(scope, id, "azurerm_role_assignment", {
    scope: on,
    principal_id: principalId,
    principal_type: "ServicePrincipal",
    role_definition_name: role,
  });
}
