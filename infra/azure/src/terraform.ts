import { checkName } from "@leasehold/core/provider";
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
  type TerraformResourceLifecycle,
} from "cdktn";
import type { Construct, IConstruct } from "constructs";

// infra/gcp/src/terraform.ts is a symbolic link to this file.

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

/** With `retain`, `terraform destroy` refuses to delete a store. With `destroy`, it deletes the store with its terms. */
export type RemovalPolicy = "retain" | "destroy";

/** Returns the lifecycle of a resource that holds leases. With `destroy` a warning says what the deletion costs. */
export function retention(scope: IConstruct, what: string, policy: RemovalPolicy): TerraformResourceLifecycle {
  if (policy === "retain") return { preventDestroy: true };
  Annotations.of(scope).addWarning(
    `removalPolicy is "destroy": once ${what} has been deleted and made again, terms begin at 1 and repeat, and whatever ` +
      `is fenced by a term refuses its leaders or takes writes of old ones. Use it for tests only.`,
  );
  return { preventDestroy: false };
}

/**
 * Checks the elections that a grant names. Leaves names that are not known at synthesis to the candidates.
 * @throws {Error} without an election, or for an invalid one.
 */
export function checkElections(grant: string, elections: readonly string[]): void {
  if (elections.length === 0) {
    throw new Error(
      `${grant} names no election, and so would grant nothing, or everything. Name the elections: ${grant}(grantee, "nightly-billing").`,
    );
  }
  for (const election of elections) if (!Token.isUnresolved(election)) checkName("election", election);
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
  if (candidates === 1) {
    Annotations.of(scope).addWarning(
      "There is 1 candidate, and so nobody to take over while it restarts. Set candidates to 2 or more.",
    );
  }
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
 * Returns the variables of a construct and those of its user.
 * @throws {Error} for a name that is in both, because the program would not find the construct's value.
 */
export function withOwnVariables(
  variables: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const taken = Object.keys(own).find((name) => name in variables);
  if (taken === undefined) return { ...variables, ...own };
  throw new Error(`environment sets ${taken}, which is made of the construct's other props. Leave it out, or set those.`);
}

/** Returns the default lease of `onlyAsLeader` for an invocation of this timeout: `timeBudget` of @leasehold/functions. */
export function longestLeaseMs(timeoutMs: number): number {
  return (timeoutMs + LATE_END_MS) / VALID_SHARE;
}

/** The time that `onlyAsLeader` adds to an invocation's time, and the part of a lease that its holder uses. */
const LATE_END_MS = 1_000;
const VALID_SHARE = 0.9;

/** Returns a container's environment in the format of the providers' blocks. */
export function environmentBlocks(
  environment: Readonly<Record<string, string>>,
): { readonly name: string; readonly value: string }[] {
  return Object.entries(environment).map(([name, value]) => ({ name, value }));
}

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
