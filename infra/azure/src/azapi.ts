import { ProviderResource, ResourceProvider } from "@leasehold/infra-terrain";

/** Microsoft's own provider, which sends what it is given to Azure's resource manager, and adds nothing to it. */
export class AzapiProvider extends ResourceProvider<AzapiProviderArguments> {
  static override readonly providerName: string = "azapi";
  static override readonly providerSource: string = "Azure/azapi";
  static override readonly versionConstraint: string = "~> 2.4";
}

export interface AzapiProviderArguments {
  readonly subscription_id?: string;
}

/** https://learn.microsoft.com/azure/templates/microsoft.web/2023-12-01/sites: what a Flex Consumption app is made of. */
export interface WebSiteArguments {
  readonly type: "Microsoft.Web/sites@2023-12-01";
  readonly name: string;
  /** The resource group's id. */
  readonly parent_id: string;
  readonly location: string;
  readonly identity: { readonly type: "UserAssigned"; readonly identity_ids: readonly string[] };
  readonly body: {
    readonly kind: "functionapp,linux";
    readonly properties: {
      readonly serverFarmId: string;
      readonly httpsOnly: true;
      readonly functionAppConfig: {
        readonly deployment: {
          readonly storage: {
            readonly type: "blobContainer";
            /** The container's URL. */
            readonly value: string;
            readonly authentication: {
              readonly type: "UserAssignedIdentity";
              readonly userAssignedIdentityResourceId: string;
            };
          };
        };
        readonly scaleAndConcurrency: { readonly maximumInstanceCount: number; readonly instanceMemoryMB: number };
        readonly runtime: { readonly name: "node"; readonly version: string };
      };
      /** All settings there are: what is not named here is taken away. */
      readonly siteConfig: { readonly appSettings: readonly { readonly name: string; readonly value: string }[] };
    };
  };
}

export class WebSite extends ProviderResource<WebSiteArguments> {
  static override readonly terraformType: string = "azapi_resource";
}
