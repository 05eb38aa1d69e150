import { Annotations, type TerraformResourceLifecycle } from "cdktn";
import type { IConstruct } from "constructs";

/** With `retain`, `terraform destroy` refuses to delete a store. With `destroy`, it deletes the store with its terms. */
export type RemovalPolicy = "retain" | "destroy";

/**
 * Returns the lifecycle of a resource that holds leases. Terraform then refuses every plan that would delete it. With `destroy`
 * Terraform deletes it, and a warning says what that costs.
 */
export function retention(scope: IConstruct, what: string, policy: RemovalPolicy): TerraformResourceLifecycle {
  if (policy === "retain") return { preventDestroy: true };
  Annotations.of(scope).addWarning(
    `removalPolicy is "destroy": once ${what} has been deleted and made again, terms begin at 1 and repeat, and whatever ` +
      `is fenced by a term refuses its leaders or takes writes of old ones. Use it for tests only.`,
  );
  return { preventDestroy: false };
}
