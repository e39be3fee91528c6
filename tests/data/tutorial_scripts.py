"""Scripts as tutorials, questions and answers on computational graphs have them; all print.

They run in PyTorch, which records the lines, and in `dynamic`. Where a text draws random numbers
these draw them from a formula, so that both have the same.
"""

_FIXED = """
def numbers(*shape):
    count = 1
    for size in shape:
        count *= size
    values = [((k * 7919 + 13) % 1009) / 504.5 - 0.999 for k in range(count)]
    return torch.tensor(values).reshape(*shape)
def fixed(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(numbers(*parameter.shape) * 0.5)
    return module
from torch import nn
from torch.autograd import Variable
from torch import tensor, empty, ones, zeros
"""

SCRIPTS = {
    "attributes": """
v = zeros(2)
print(v.data)
print(v.grad)
print(v.grad_fn)
print(v.is_leaf)
print(v.requires_grad)
x = ones(2, requires_grad=True)
y = empty(2).fill_(3)
y.requires_grad = True
print(y)
z = (y*y).sum()
print(z)
print(y.is_leaf, z.is_leaf)
print(y.requires_grad, y.grad_fn)
print(z.requires_grad, z.grad_fn.name())
print(y.grad)
z.backward()
print(y.grad)
""",
    "gradients add up": """
y = ones(2, requires_grad=True)
z = (y*y).sum()
z.backward(retain_graph=True)
z.backward()
print(y.grad)
try:
    z.backward()
except RuntimeError as error:
    print(str(error)[:50])
""",
    "constants": """
x = ones(1, requires_grad=True)
a = tensor(-4.)
z = 8*x + a
z.backward()
print(x, x.grad)
print(a, a.grad)
print(z)
""",
    "retain_grad": """
x = tensor(2., requires_grad=True)
y = x**2; y.retain_grad()
z = 2*y; z.retain_grad()
z.backward()
print(z.item(), y.item(), x.item())
print(z.grad.item(),y.grad.item(),x.grad.item())
""",
    "a graph per step, four ways": """
for i in range(1,3):
    x = empty(2).fill_(i).requires_grad_(True)
    z = x.dot(x)
    z.backward()
    print(z.item(), x.grad)
x = empty(2).requires_grad_(True)
for i in range(1,3):
    with torch.no_grad():
        x.fill_(i)
    z = x.dot(x)
    z.backward()
    print(z.item(), x.grad.numpy())
    x.grad.zero_()
for i in range(1,3):
    x.data.fill_(i)
    z = x.dot(x)
    z.backward()
    print(z.item(), x.grad)
    x.grad.zero_()
xd = x.detach()
for i in range(1,3):
    xd.fill_(i)
    z = x.dot(x)
    z.backward()
    print(z.item(), x.grad)
    x.grad.zero_()
""",
    "modes": """
x = ones(1, requires_grad=True)
with torch.no_grad():
    z1 = 2 * x
    with torch.enable_grad():
        z2 = 2 * x
print(x.requires_grad, z1.requires_grad, z2.requires_grad)
@torch.no_grad()
def test_function(x):
    return x * 2
print(test_function(x).requires_grad)
""",
    "detach": """
x = tensor([1.,2.], requires_grad=True)
y = x.detach()
print(x)
print(y)
y[0]=5
print(x)
""",
    "five ways to make y": """
for make in (lambda x: tensor(3.).requires_grad_(True), lambda x: x, lambda x: tensor(3.),
             lambda x: x.detach().clone(), lambda x: x.clone()):
    x = tensor(3.).requires_grad_(True)
    y = make(x)
    z = x + y*y
    z.backward()
    print(z.item(), x.grad, y.grad if y.is_leaf else y.grad_fn.name(), y.requires_grad)
""",
    "clone": """
x = torch.ones(1, requires_grad=True)
with torch.no_grad():
    y = x.clone()
print(y.requires_grad, y.grad_fn)
y = x.detach().clone()
print(y.requires_grad, y.grad_fn)
y = x.clone()
print(y.requires_grad, y)
""",
    "in place": """
x = ones(1); print(x); before = id(x)
x += 1; print(x, id(x) == before)
x.add_(1); print(x, id(x) == before)
x = x + 1; print(x, id(x) == before)
x = tensor(1., requires_grad=True)
for text in ("x += 1", "y = x; y *= 1"):
    try:
        exec(text)
    except RuntimeError as error:
        print(error)
y = 2*x
print(y)
y += 2
print(y)
y.log_()
print(y)
y.backward()
print(x.grad)
x = tensor(1., requires_grad=True)
print(x)
x = x + 1
print(x)
""",
    "slices": """
x = tensor(1., requires_grad=True)
s = ones(2)
s[1] = s[0] * x
z = s.sum()
try:
    z.backward()
except RuntimeError as error:
    print(str(error)[:90])
s = ones(2)
s[1] = s[0].clone() * x
print(s)
z = s.sum()
z.backward()
print(x.grad)
x, w = numbers(1), numbers(1).requires_grad_()
try:
    w[0] = 1.
except RuntimeError as error:
    print(error)
""",
    "joined and assigned": """
y = []
leaves = []
for i in range(100):
    x = (numbers(1,32,32) * i).requires_grad_()
    leaves.append(x)
    y.append( x )
y = torch.cat(y, dim=0)
z = (y * y).mean()
z.backward()
print(z, y.shape, leaves[99].grad[0, :2, :2])
y = torch.empty(100,32,32)
others = []
for i in range(100):
    x = (numbers(32,32) * i).requires_grad_()
    others.append(x)
    y[i] = x
z = (y * y).mean()
z.backward()
print(z, all((a.grad[0] == b.grad).all().item() for a, b in zip(leaves, others)))
print(y.grad_fn.name())
""",
    "minimising": """
def fun(x):
    return x[0]**2 + (x[1]-1)**2
x = torch.tensor([1.,2.], requires_grad=True)
optimizer = torch.optim.SGD([x], lr=1, momentum=0.5)
for it in range(20):
    optimizer.zero_grad()
    y = fun(x)
    y.backward()
    optimizer.step()
    print(y.item(), x.detach().numpy())
""",
    "two losses on one graph": """
a = Variable(numbers(1, 4), requires_grad=True)
b = a**2
c = b*2
d = c.mean()
e = c.sum()
d.backward(retain_graph=True)
e.backward(retain_graph=True)
d.backward()
print(a.grad)
try:
    e.backward()
except RuntimeError as error:
    print(str(error)[:50])
c = (a**2)*2
d, e = c.mean(), c.sum()
d.backward()
try:
    e.backward()
except RuntimeError as error:
    print(str(error)[:50])
""",
    "two losses, one step": """
net = fixed(nn.Sequential(nn.Linear(4, 3), nn.Tanh()))
heads = [fixed(nn.Linear(3, 1)) for _ in range(2)]
optimizer = torch.optim.SGD([*net.parameters(), *heads[0].parameters()], lr=0.1)
shared = net(numbers(5, 4))
loss1, loss2 = (head(shared).pow(2).mean() for head in heads)
loss1.backward(retain_graph=True)
loss2.backward()
optimizer.step()
print(net[0].weight, loss1, loss2)
""",
    "printed matrices": """
x = tensor([[-0.3360, -0.2482, -1.1120],
            [ 1.7921,  0.1434, -0.8937],
            [-1.0977,  1.2902,  1.3045]], requires_grad=True)
print(x)
y = 2 * x + 3
print(y)
z = 4 * y - 1
print(z)
z.sum().backward()
print(x.grad)
x = torch.randn([3,3], requires_grad=True)
print(x.shape, x.requires_grad)
""",
    "freed buffers": """
x = Variable(torch.ones(2,3), requires_grad=True)
y = x.mean(dim=1).squeeze() + 3
z = y.pow(2).mean()
y.backward(torch.ones(2))
z.backward()
y.backward(torch.ones(2))
print(x.grad)
try:
    z.backward()
except RuntimeError as error:
    print(str(error)[:50])
""",
    "a net twice on one input": """
net = fixed(nn.Conv2d(1, 1, 2))
inp = numbers(1, 1, 3, 3)
out = net(inp)
out2 = net(inp)
out.backward(torch.ones(1,1,2,2))
print(net.weight.grad)
out2.backward(torch.ones(1,1,2,2))
print(net.weight.grad, out.grad_fn is out2.grad_fn)
""",
    "three frozen critics": """
netG = fixed(nn.Linear(2, 3))
critics = [fixed(nn.Linear(3, 1)) for _ in range(3)]
criterion, criterion_other = nn.BCEWithLogitsLoss(), nn.MSELoss()
real_label, target = torch.ones(4, 1), torch.zeros(4, 3)
inputs = numbers(4, 2)
def show():
    print([round(float(p.grad.sum()), 4) if p.grad is not None else None
           for p in (*netG.parameters(), *critics[0].parameters())])
    for module in (netG, *critics):
        module.zero_grad()
fake = netG(inputs)
loss = sum(criterion(critic(fake), real_label) for critic in critics)
loss = loss + criterion_other(fake, target)
loss.backward()
show()
fake = netG(inputs)
loss = sum(criterion(critic(fake).detach(), real_label) for critic in critics)
(loss + criterion_other(fake, target)).backward()
show()
fake = netG(inputs)
loss = sum(criterion(critic(fake.detach()), real_label) for critic in critics)
(loss + criterion_other(fake, target)).backward()
show()
for critic in critics:
    critic.requires_grad_(False)
fake = netG(inputs)
loss = sum(criterion(critic(fake), real_label) for critic in critics)
loss = loss + criterion_other(fake, target)
loss.backward()
show()
""",
    "back-propagation through time": """
cell = fixed(nn.RNNCell(3, 4))
state, total = torch.zeros(2, 4), 0
for t in range(7):
    state = cell(numbers(2, 3) * (t + 1), state)
    total = total + state.pow(2).sum()
total.backward()
print(total, cell.weight_hh.grad)
""",
    "a loss with its own backward": """
class ContentLoss(nn.Module):
    def __init__(self, target, weight):
        super(ContentLoss, self).__init__()
        self.target = target.detach() * weight
        self.weight = weight
        self.criterion = nn.MSELoss()
    def forward(self, input):
        self.loss = self.criterion(input * self.weight, self.target)
        self.output = input
        return self.output
    def backward(self, retain_graph=True):
        self.loss.backward(retain_graph=retain_graph)
        return self.loss
x = numbers(2, 3).requires_grad_()
first, second = ContentLoss(numbers(2, 3) + 1, 2.0), ContentLoss(numbers(2, 3) - 1, 0.5)
net = fixed(nn.Linear(3, 3))
out = second(net(first(x)))
print(first.backward(), second.backward(), x.grad)
second.backward()
print(net.weight.grad)
""",
    "one trunk, two heads": """
trunk = fixed(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Conv2d(2, 2, 3), nn.Flatten()))
cat, car = (fixed(nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))) for _ in range(2))
image = numbers(1, 1, 6, 6)
features = trunk(image)
cat(features).sum().backward(retain_graph=True)
car(features).sum().backward()
one_by_one = [p.grad.clone() for p in trunk.parameters()]
trunk.zero_grad()
features = trunk(image)
(cat(features) + car(features)).sum().backward()
print(all(torch.allclose(a, p.grad) for a, p in zip(one_by_one, trunk.parameters())))
print(one_by_one[0].sum())
features = trunk(image)
a, b = cat(features).sum(), car(features).sum()
a.backward()
try:
    b.backward()
except RuntimeError as error:
    print(str(error)[:50])
""",
    "accumulated batches": """
net, x, y = fixed(nn.Linear(3, 1)), numbers(8, 3), numbers(8, 1)
nn.functional.mse_loss(net(x), y, reduction='sum').backward()
whole = net.weight.grad
net.weight.grad = None
for part, target in zip(x.split(2), y.split(2)):
    nn.functional.mse_loss(net(part), target, reduction='sum').backward()
print(whole, torch.allclose(whole, net.weight.grad))
""",
}


def source(script: str, package: str) -> str:
    """A script with what it needs before it, where `torch` is the package of that name."""
    fixed = _FIXED.replace("from torch", f"from {package}")
    return f"import {package} as torch\n{fixed}{script}"
