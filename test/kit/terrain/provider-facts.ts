/**
 * The arguments of a Terraform provider that our constructs use. They are written by hand, and compared with the real provider on
 * demand.
 */
export interface ProviderFacts {
  /** The name in Terraform's registry: `hashicorp/google`. */
  readonly source: string;
  /** The version of the provider. */
  readonly version: string;
  /**
   * The npm package of bindings that were generated from that version, which the comparison installs. Some providers have none.
   */
  readonly bindings?: string;
  /**
   * The version of the bindings, if there are none of `version`. The facts of `version` then come from its documentation only.
   */
  readonly boundAt?: string;
  /** The arguments of the provider's own block. */
  readonly configuration: ArgumentFacts;
  readonly resources: Readonly<Record<string, ResourceFacts>>;
}

export interface ResourceFacts {
  readonly arguments: ArgumentFacts;
  /** Attributes that the provider sets, and to which others refer. */
  readonly exports?: readonly string[];
}

/** Every required argument, and the optional ones that are used. */
export type ArgumentFacts = Readonly<Record<string, AttributeFact | BlockFact>>;

export type AttributeType = "string" | "number" | "bool" | "list" | "set" | "map";

/** `string` is an optional attribute, `required string` a required one. */
export type AttributeFact = AttributeType | `required ${AttributeType}`;

export interface BlockFact {
  /** The least number of these blocks. */
  readonly min?: number;
  /** The greatest number of these blocks. */
  readonly max?: number;
  readonly block: ArgumentFacts;
}
