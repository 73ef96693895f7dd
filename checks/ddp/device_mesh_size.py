"""The parallel sizes do not multiply to the number of ranks.

## What happens

"Mesh should not be bigger than default world size 2, but found 8 ranks!", "world_size (6) is not divisible by 4",
"The new group's rank should be within the world_size set by init_process_group",
"Invalid parallel dims: dp_replicate(1) * dp_shard(2) * cp(1) * tp(4) * pp(1) != WORLD_SIZE(4)", while the processes set
up their groups.

## Why

Data, tensor, pipeline and context parallelism divide the ranks between them, so their sizes must multiply to the number
of ranks, or to a divisor of it where data parallelism takes the rest:

- The configuration is for another number of GPUs or nodes.
- The script was started with fewer processes: `python train.py` has one.
- Slurm's or torchrun's number of nodes is missing, so each node counts its own ranks alone.

## How to tell

`print(dist.get_world_size())` just before the mesh is made, and the product of the sizes in the configuration.

## See also

- [DeviceMesh](https://docs.pytorch.org/docs/stable/distributed.html#devicemesh): the groups that a mesh makes
- [Getting started with DeviceMesh](https://docs.pytorch.org/tutorials/recipes/distributed_device_mesh.html): a mesh of two dimensions
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"Mesh should not be bigger than default world size(?: (?P<world>\d+))?, but found (?P<mesh>\d+) ranks",
        r"DeviceMesh only support homogeneous hardware, but found (?P<world>\d+) ranks and (?P<devices>\d+) \w+ devices",
        r"Invalid parallel dims: (?P<product>.{1,200}?) ?!= ?(?:WORLD_SIZE|world_size)\(?(?P<world>\d+)",
        r"[Ww]orld[ _]size.? ?\(?(?P<world>\d+)\)? is not divisible by (?P<by>\d+|\w{0,20}tensor[ _]model[ _]\w{0,20}.{0,200})",
        r"[Ww]orld[ _]size \(?(?P<world>\d+)\)? must be divisible by the product of all parallel degrees",
        # groups that are made by hand
        r"new group's (?:world size|rank) should be (?:less or equal to|within) (?:the )+world[ _]size set by init_process_group",
        r"Error: Rank (?P<beyond>\d+) is out of range\. Valid ranks are 0 to \d+ \(world_size=(?P<world>\d+)\)",
        r"arg 'group_size' \((?P<group>\d+)\) must not exceed the world size \((?P<world>\d+)\)",
        r"world size \((?P<world>\d+)\) must be divisible by 'group_size=(?P<by>\d+)'",
        r"Number of GPUs must be divisible by the product of all parallelism sizes",
        r"ParallelismConfig total_size \((?P<mesh>\d+)\) does not match num_processes \((?P<world>\d+)\)",
        r"(?:[Ww]orld[ _]size|WORLD_SIZE):? \(?(?P<world>\d+)\)? (?:is not|must be|should be) divisible by (?!the product of all|\d)(?:the )?(?P<by>\w[^.\n]{1,120}?)(?: to derive \w+)?\)?\.?$",
        r"(?:parallel_(?:size|dim|degree)|num_stages) \(\d+\) must divide (?:the )?(?:distributed )?world[ _]size \(?(?P<world>\d+)",
        r"parallel\w{0,40}(?:`?(?:=| \()\d+\)?)?`? (?:multiplied )?(?:must|should) (?:equal|be) (?:the )?(?:distributed )?world[ _]size \(?(?P<world>\d+)",
        r"\bmesh \((?P<product>[^)\n]{3,80})\) must cover the (?:distributed )?world size \(?(?P<world>\d+)",
        r"\bworld_size \((?P<world>\d+)\) must be equal to the (?P<product>tensor_parallel_size .{1,160}?)\.?$",
        r"World size (?P<world>\d+) (?:is greater than|is not divisible by|does not equal) the product of the specified parallelism degrees",
        r"parallel mesh requires (?P<mesh>\d+) processes, but world_size is (?P<world>\d+)",
        r"[Ww]orld[ _]size.? ?\(?(?P<world>\d+)\)? is not divisible by \(?\w{0,20}tensor.{0,200}",
    ],
    message="the parallel sizes[, <product>,] do not fit the number of ranks[, here <world>][: the mesh has <mesh>][: a group of <group> is asked for]"
    "[: rank <beyond> is to be in a group]"
    "[: it must be divisible by <by>][: the node has <devices> GPUs]",
    fixes=[
        Fix(
            "On one node: start as many processes as the mesh has places",
            "torchrun --nproc-per-node=<mesh> train.py",
        ),
        Fix(
            "Compute one size from the number of ranks",
            "tp = 2\ndp = dist.get_world_size() // tp\n"
            'mesh = init_device_mesh("cuda", (dp, tp), mesh_dim_names=("dp", "tp"))',
            Kind.EDIT,
            proof="dp = dist.get_world_size() // tp",
        ),
        Fix(
            "Or lower the sizes in the configuration until their product is the number of ranks; Megatron",
            "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 1",
            Kind.EDIT,
        ),
    ],
)
