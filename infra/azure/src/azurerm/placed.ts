/** The arguments of a resource in a resource group. */
export interface Placed {
  readonly name: string;
  readonly resource_group_name: string;
  readonly location: string;
}
