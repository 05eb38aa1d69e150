import { DefaultTokenResolver, StringConcat, Tokenization } from "cdktn";
import type { IConstruct } from "constructs";

/**
 * Returns an id for a grant's construct. It depends on the grantee and not on the order of grants, because a new grant must not
 * make Terraform replace the others.
 */
export function granteeId(scope: IConstruct, role: string, grantee: string): string {
  const resolver = new DefaultTokenResolver(new StringConcat());
  const name = String(Tokenization.resolve(grantee, { scope, resolver, preparing: false }));
  return `${role}-${name.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "")}`;
}
