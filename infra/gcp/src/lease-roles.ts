import type { Construct } from "constructs";
import { ProviderResource } from "../../terraform.ts";

/** The receiver of a grant: a service account of this package or of other bindings, or any member of an IAM policy. */
export interface Grantee {
  /** `serviceAccount:<email>`, `group:<email>`, `user:<email>` */
  readonly member: string;
}

export type RoleName = "Candidate" | "Observer" | "Administrator";

const DESCRIPTIONS: Readonly<Record<RoleName, string>> = {
  Candidate: "Competes in elections.",
  Observer: "Sees who leads.",
  Administrator: "Breaks and transfers leases.",
};

interface LeaseRole {
  readonly project: string;
  /** The name of the database or the bucket. */
  readonly of: string;
  /** The end of the role's id. A role's id may not contain hyphens, and has to be unique in the project. */
  readonly suffix: string;
  readonly permissions: readonly string[];
}

/** Returns the role of this name below `scope`. Makes it at the first call. */
export function leaseRole(scope: Construct, name: RoleName, { project, of, suffix, permissions }: LeaseRole): ProviderResource {
  const made = scope.node.tryFindChild(`${name}Role`) as ProviderResource | undefined;
  if (made) return made;
  return new ProviderResource(scope, `${name}Role`, "google_project_iam_custom_role", {
    project,
    role_id: `lease_${name.toLowerCase()}_${suffix}`,
    title: `Lease ${name.toLowerCase()} (${of})`,
    description: DESCRIPTIONS[name],
    permissions,
  });
}
