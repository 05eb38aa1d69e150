import { ProviderResource } from "@leasehold/infra-terrain";

export interface ProjectIamCustomRoleArguments {
  readonly project: string;
  readonly role_id: string;
  readonly title: string;
  readonly description: string;
  readonly permissions: readonly string[];
}

export class ProjectIamCustomRole extends ProviderResource<ProjectIamCustomRoleArguments> {
  static override readonly terraformType: string = "google_project_iam_custom_role";
}

export interface ProjectIamMemberArguments {
  readonly project: string;
  readonly role: string;
  readonly member: string;
  readonly condition: { readonly title: string; readonly description: string; readonly expression: string };
}

export class ProjectIamMember extends ProviderResource<ProjectIamMemberArguments> {
  static override readonly terraformType: string = "google_project_iam_member";
}

export interface ServiceAccountArguments {
  readonly project: string;
  readonly account_id: string;
  readonly display_name: string;
}

export class ServiceAccount extends ProviderResource<ServiceAccountArguments> {
  static override readonly terraformType: string = "google_service_account";

  get email(): string {
    return this.getStringAttribute("email");
  }

  /** The name in policies: `serviceAccount:<email>`. */
  get member(): string {
    return this.getStringAttribute("member");
  }
}
