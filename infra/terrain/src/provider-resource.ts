import { TerraformProvider, TerraformResource, type TerraformMetaArguments } from "cdktn";
import type { Construct } from "constructs";

/**
 * A resource of a Terraform provider, with arguments by the provider's own names. A subclass names its type and its arguments.
 * Nothing is translated: Terraform reads the arguments unchanged.
 */
export abstract class ProviderResource<Arguments extends object> extends TerraformResource {
  /** The provider's name of the resource type. It begins with the name of the provider. */
  static readonly terraformType: string;

  readonly #arguments: Arguments;

  constructor(scope: Construct, id: string, args: Arguments, meta: TerraformMetaArguments = {}) {
    const terraformResourceType = new.target.terraformType;
    const [providerName = ""] = terraformResourceType.split("_");
    super(scope, id, { ...meta, terraformResourceType, terraformGeneratorMetadata: { providerName } });
    this.#arguments = args;
  }

  /** The provider's identifier of the resource. */
  get id(): string {
    return this.getStringAttribute("id");
  }

  protected override synthesizeAttributes(): Record<string, unknown> {
    return Object.fromEntries(Object.entries(this.#arguments));
  }
}

/** The configuration of a Terraform provider, with the version for which the resources' arguments are written. */
export abstract class ResourceProvider<Arguments extends object> extends TerraformProvider {
  static readonly providerName: string;
  /** @defaultValue `hashicorp/<providerName>` */
  static readonly providerSource: string | undefined;
  static readonly versionConstraint: string;

  readonly #arguments: Arguments;

  constructor(scope: Construct, id: string, args: Arguments) {
    const { providerName, providerSource = `hashicorp/${providerName}`, versionConstraint } = new.target;
    super(scope, id, {
      terraformResourceType: providerName,
      terraformProviderSource: providerSource,
      terraformGeneratorMetadata: { providerName, providerVersionConstraint: versionConstraint },
    });
    this.#arguments = args;
  }

  protected override synthesizeAttributes(): Record<string, unknown> {
    return Object.fromEntries(Object.entries(this.#arguments));
  }
}
