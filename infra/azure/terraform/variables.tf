variable "resource_group" {
  type = object({ id = string, name = string, location = string })
}

variable "account_name" {
  description = "The storage account: 3 to 24 lower-case letters and digits, unique in the world"
  type        = string
}

variable "candidates" {
  description = "The identities that compete, each with all of its elections, by any key"
  type        = map(object({ principal_id = string, elections = list(string) }))
  validation {
    # Other characters would have to be encoded as the store encodes them: use the construct for such names.
    condition     = alltrue([for each in values(var.candidates) : length(each.elections) > 0 && alltrue([for name in each.elections : can(regex("^[A-Za-z0-9_-]{1,255}$", name))])])
    error_message = "Name the elections of each candidate: each has 1 to 255 letters, digits, hyphens and underscores."
  }
}

locals {
  blobs = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
  path  = "@Resource[${local.blobs}:path] ForAnyOfAnyValues"
  # The blobs of the candidate's elections, their notes and their occurrences.
  conditions = { for key, each in var.candidates : key => join("", [
    "((!(ActionMatches{'${local.blobs}/read'}) AND !(ActionMatches{'${local.blobs}/write'}))",
    " OR (${local.path}:StringEquals {${join(", ", flatten([for name in each.elections : ["'${name}'", "'${name}.note'"]]))}}",
    " OR ${local.path}:StringLike {${join(", ", [for name in each.elections : "'ticks/${name}/*'"])}}))",
  ]) }
}
