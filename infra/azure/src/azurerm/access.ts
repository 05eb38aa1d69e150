import { ProviderResource } from "@leasehold/infra-terrain";
import type { Placed } from "./placed.ts";

export interface RoleDefinitionArguments {
  readonly name: string;
  readonly scope: string;
  readonly description: string;
  readonly assignable_scopes: readonly string[];
  readonly permissions: readonly { readonly actions: readonly string[]; readonly data_actions: readonly string[] }[];
}

export class RoleDefinition extends ProviderResource<RoleDefinitionArguments> {
  static override readonly terraformType: string = "azurerm_role_definition";

  /** The identifier that an assignment takes. `id` is Terraform's own. */
  get roleDefinitionResourceId(): string {
    return this.getStringAttribute("role_definition_resource_id");
  }
}

export interface RoleAssignmentArguments {
  readonly scope: string;
  readonly principal_id: string;
  readonly principal_type: PrincipalType;
  readonly role_definition_id?: string;
  readonly role_definition_name?: string;
  readonly description?: string;
  readonly condition?: string;
  readonly condition_version?: "2.0";
}

export type PrincipalType = "ServicePrincipal" | "User" | "Group";

export class RoleAssignment extends ProviderResource<RoleAssignmentArguments> {
  static override readonly terraformType: string = "azurerm_role_assignment";
}

export type UserAssignedIdentityArguments = Placed;

export class UserAssignedIdentity extends ProviderResource<UserAssignedIdentityArguments> {
  static override readonly terraformType: string = "azurerm_user_assigned_identity";

  get clientId(): string {
    return this.getStringAttribute("client_id");
  }

  get principalId(): string {
    return this.getStringAttribute("principal_id");
  }
}

/** A managed identity: a construct of this package, of other bindings, or three strings. */
export interface ManagedIdentity {
  /** The resource's id. */
  readonly id: string;
  readonly clientId: string;
  readonly principalId: string;
}

export interface ManagedIdentityArguments {
  readonly type: "UserAssigned";
  readonly identity_ids: readonly string[];
}
