import { DefaultTokenResolver, StringConcat, Tokenization } from "cdktn";
import type { IConstruct } from "constructs";

/**
 * An id for a grant's construct, made of who it is for and not of when it came: a new grant must not make Terraform
 * replace the others.
 */
export function granteeId(scope: IConstruct, role: string, grantee: string): string {
  const resolver = new DefaultTokenResolver(new StringConcat());
  const name = String(Tokenization.resolve(grantee, { scope, resolver, preparing: false }));
  return `${role}-${name.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "")}`;
}
