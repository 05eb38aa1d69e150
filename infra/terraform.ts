import { checkName, SAFETY_MARGIN } from "@leasehold/core/provider";
import {
  AnnotationMetadataEntryType,
  Annotations,
  DefaultTokenResolver,
  StringConcat,
  TerraformProvider,
  TerraformResource,
  Token,
  Tokenization,
  type App,
  type TerraformMetaArguments,
} from "cdktn";
import type { Construct, IConstruct } from "constructs";

// The packages for Azure and Google Cloud share this file. The compiler builds it into the dist of each.

/**
 * A resource of a Terraform provider, with arguments by the provider's own names. Terraform reads them unchanged. The tests check
 * every argument by a table of the provider's.
 */
export class ProviderResource extends TerraformResource {
  readonly #arguments: object;

  /** @param type the provider's name of the resource type, which begins with the name of the provider. */
  constructor(scope: Construct, id: string, type: string, args: object, meta: TerraformMetaArguments = {}) {
    const [providerName = ""] = type.split("_");
    super(scope, id, { ...meta, terraformResourceType: type, terraformGeneratorMetadata: { providerName } });
    this.#arguments = args;
  }

  /** The provider's identifier of the resource. */
  get id(): string {
    return this.attribute("id");
  }

  /** Returns a reference to an attribute that the provider sets. */
  attribute(name: string): string {
    return this.getStringAttribute(name);
  }

  protected override synthesizeAttributes(): Record<string, unknown> {
    return { ...this.#arguments };
  }
}

/** The configuration of a Terraform provider, with the version for which the resources' arguments are written. */
export class ConfiguredProvider extends TerraformProvider {
  readonly #arguments: object;

  constructor(scope: Construct, id: string, source: string, version: string, args: object) {
    const providerName = source.slice(source.indexOf("/") + 1);
    super(scope, id, {
      terraformResourceType: providerName,
      terraformProviderSource: source,
      terraformGeneratorMetadata: { providerName, providerVersionConstraint: version },
    });
    this.#arguments = args;
  }

  protected override synthesizeAttributes(): Record<string, unknown> {
    return { ...this.#arguments };
  }
}

/** `terraform destroy` refuses to delete a resource that holds leases, because terms would begin at 1 and repeat. */
export const RETAINED: TerraformMetaArguments = { lifecycle: { preventDestroy: true } };

/**
 * Checks the elections that a grant names.
 * @throws {Error} without an election, or for an invalid one.
 */
export function checkElections(grant: string, elections: readonly string[]): void {
  if (elections.length === 0) {
    throw new Error(
      `${grant} names no election, and so would grant nothing, or everything. Name the elections: ${grant}(grantee, "nightly-billing").`,
    );
  }
  for (const election of elections) checkName("election", election);
}

/**
 * Checks the number of candidates.
 * @throws {Error} unless it is a whole number from 1. With 1 there is a warning, because there is no standby.
 */
export function checkCandidates(scope: IConstruct, candidates: number): void {
  if (Token.isUnresolved(candidates)) return;
  if (!Number.isInteger(candidates) || candidates < 1) {
    throw new Error(`candidates is ${candidates}; it must be a whole number from 1. With 2 one leads and one stands by.`);
  }
  if (candidates > 1) return;
  Annotations.of(scope).addWarning("There is 1 candidate, and so nobody to take over while it restarts. Set candidates to 2.");
}

/** @throws {Error} if a single start would alert. */
export function checkTransitions(maxTransitions: number): void {
  if (maxTransitions >= 1) return;
  throw new Error(`maxTransitions is ${maxTransitions}; a single start is no flapping, so it must be at least 1.`);
}

/**
 * Returns an id for a grant's construct. It depends on the grantee and not on the order of grants, because a new grant must not
 * make Terraform replace the others.
 */
export function granteeId(scope: IConstruct, role: string, grantee: string): string {
  const resolver = new DefaultTokenResolver(new StringConcat());
  const name = String(Tokenization.resolve(grantee, { scope, resolver, preparing: false }));
  return `${role}-${name.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "")}`;
}

/**
 * Returns the variables of a construct and those of its user, in the format of the providers' blocks.
 * @throws {Error} for a name that is in both, because the program would not find the construct's value.
 */
export function environmentBlocks(
  variables: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>> = {},
): { readonly name: string; readonly value: string }[] {
  const taken = Object.keys(own).find((name) => name in variables);
  if (taken !== undefined) {
    throw new Error(`environment sets ${taken}, which is made of the construct's other props. Leave it out, or set those.`);
  }
  return Object.entries({ ...variables, ...own }).map(([name, value]) => ({ name, value }));
}

/** Returns the default lease of `onlyAsLeader` for an invocation of this timeout: `timeBudget` of @leasehold/functions. */
export function longestLeaseMs(timeoutMs: number): number {
  return (timeoutMs + LATE_END_MS) / (1 - SAFETY_MARGIN);
}

/** The time that `onlyAsLeader` adds to an invocation's time. */
const LATE_END_MS = 1_000;
const WARNING: string = AnnotationMetadataEntryType.WARN;

/** Writes an app's stacks, and its warnings to standard error. Only the command line of CDK Terrain would show them otherwise. */
export function synthesize(app: App): void {
  app.synth();
  for (const construct of app.node.findAll()) {
    for (const { type, data } of construct.node.metadata) {
      if (type === WARNING) console.warn(`Warning at ${construct.node.path}: ${String(data)}`);
    }
  }
}
