/** The arguments of a Terraform provider, as far as they concern ours: written by hand, compared with the real one on demand. */
export interface ProviderFacts {
  /** As in Terraform's registry: `hashicorp/google`. */
  readonly source: string;
  /** Of the provider. */
  readonly version: string;
  /** The npm package of bindings that were generated from that version, which the comparison installs; not every provider has one. */
  readonly bindings?: string;
  /** The version that the bindings are of, where there are none of `version`, which then has been read about alone. */
  readonly boundAt?: string;
  /** The arguments of the provider's own block. */
  readonly configuration: ArgumentFacts;
  readonly resources: Readonly<Record<string, ResourceFacts>>;
}

export interface ResourceFacts {
  readonly arguments: ArgumentFacts;
  /** Attributes that the provider fills in, and that others refer to. */
  readonly exports?: readonly string[];
}

/** Every required argument, and those of the optional ones that are used. */
export type ArgumentFacts = Readonly<Record<string, AttributeFact | BlockFact>>;

export type AttributeType = "string" | "number" | "bool" | "list" | "set" | "map";

/** `string` is an attribute that may be left out, `required string` one that may not. */
export type AttributeFact = AttributeType | `required ${AttributeType}`;

export interface BlockFact {
  /** How often it has to be there. */
  readonly min?: number;
  /** How often it may be there. */
  readonly max?: number;
  readonly block: ArgumentFacts;
}
