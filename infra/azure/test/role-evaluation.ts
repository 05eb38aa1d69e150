import type { TerraformStack } from "cdktn";
import { evaluateCondition } from "./condition-evaluation.ts";
import { synthesized, type Resource } from "./synthesized.ts";

/** A request to the storage service. A request to list has no blob. */
export interface BlobRequest {
  readonly action: string;
  readonly path?: string | undefined;
}

/**
 * Returns a function that decides requests on a stack's container as Azure would. It uses the data actions of the assigned roles
 * and the conditions of the assignments.
 */
export function rightsIn(stack: TerraformStack): (principalId: string, request: BlobRequest) => boolean {
  const { of, resources } = synthesized(stack);
  const assignments = of("azurerm_role_assignment");
  return (principalId, request) =>
    assignments
      .filter((assignment) => assignment["principal_id"] === principalId)
      .some((assignment) => {
        const [, id = ""] = /^\$\{azurerm_role_definition\.([^.]+)\./.exec(String(assignment["role_definition_id"])) ?? [];
        const permissions = resources["azurerm_role_definition"]?.[id]?.["permissions"] as Resource[] | undefined;
        const actions = (permissions ?? []).flatMap((permission) => permission["data_actions"] as string[]);
        const condition = assignment["condition"] as string | undefined;
        return (
          actions.some((pattern) => matches(pattern, request.action)) &&
          (condition === undefined || evaluateCondition(condition, request))
        );
      });
}

function matches(pattern: string, action: string): boolean {
  const expression = pattern.split("*").map((part) => part.replace(/[.\\/]/g, "\\$&"));
  return new RegExp(`^${expression.join(".*")}$`, "i").test(action);
}
