"""Programs of tutorials and questions on computation graphs, as their authors wrote them."""

SEEDS = """
# seed: what a tensor knows
v = torch.zeros(2)
print(v.data, v.grad, v.grad_fn, v.is_leaf, v.requires_grad)
x = torch.ones(2, requires_grad=True)
y = torch.empty(2).fill_(3)
y.requires_grad = True
z = (y * y).sum()
print(x, y, z, y.is_leaf, z.is_leaf, y.requires_grad, y.grad_fn, z.requires_grad)
print(type(z.grad_fn).__name__, y.grad)
z.backward()
print(y.grad)
# seed: constants
x = torch.ones(1, requires_grad=True)
a = torch.tensor(-4.)
z = 8 * x + a
z.backward()
print(x, x.grad, a, a.grad, z)
# seed: gradients kept inside
x = torch.tensor(2., requires_grad=True)
y = x**2; y.retain_grad()
z = 2*y; z.retain_grad()
z.backward()
print(z.item(), y.item(), x.item(), z.grad.item(), y.grad.item(), x.grad.item())
# seed: graphs in a loop
for i in range(1, 3):
    x = torch.empty(2).fill_(i).requires_grad_(True)
    z = x.dot(x)
    z.backward()
    print(z.item(), x.grad)
x = torch.empty(2).requires_grad_(True)
for i in range(1, 3):
    with torch.no_grad():
        x.fill_(i)
    z = x.dot(x)
    z.backward()
    print(z.item(), x.grad.numpy())
    x.grad.zero_()
for i in range(1, 3):
    x.data.fill_(i)
    print(x.dot(x))
xd = x.detach()
for i in range(1, 3):
    xd.fill_(i)
    z = x.dot(x)
    z.backward()
    print(z.item(), x.grad)
    x.grad.zero_()
# seed: no_grad and enable_grad
x = torch.ones(1, requires_grad=True)
with torch.no_grad():
    z1 = 2 * x
    with torch.enable_grad():
        z2 = 2 * x
print(x.requires_grad, z1.requires_grad, z2.requires_grad)
with torch.no_grad():
    y = x.clone()
print(y.requires_grad, y.grad_fn, x.detach().clone().grad_fn, x.clone())
# seed: five ways to a second operand
for make in (lambda x: torch.tensor(3.).requires_grad_(), lambda x: x, lambda x: torch.tensor(1.),
             lambda x: x.detach().clone(), lambda x: x.clone()):
    x = torch.tensor(3.).requires_grad_(True)
    y = make(x)
    z = x + y * y
    z.backward()
    print(x.grad, y.grad if y.is_leaf else None, y.requires_grad, y)
# seed: in place
x = torch.ones(1)
place = x.data_ptr()
x += 1
x.add_(1)
print(x, x.data_ptr() == place, (x + 1).data_ptr() == place)
x = torch.tensor(1., requires_grad=True)
error(lambda: x.add_(1))
y = 2 * x
print(y)
y += 2
print(y)
y.log_()
print(y)
y.backward()
print(x.grad, x + 1)
# seed: slices
x = torch.tensor(1., requires_grad=True)
s = torch.ones(2)
s[1] = s[0] * x
error(lambda: s.sum().backward())
s = torch.ones(2)
s[1] = s[0].clone() * x
print(s, s.grad_fn.name(), type(s.grad_fn).__name__)
s.sum().backward()
print(x.grad)
w = torch.randn(1, requires_grad=True)
error(lambda: w.__setitem__(0, 1.))
y = torch.empty(4, 2)
for i in range(4):
    y[i] = torch.ones(2, requires_grad=True)
print(y)
# seed: a detached slice
x = torch.tensor([1., 2.], requires_grad=True)
y = x.detach()
y[0] = 5
print(x, y)
# seed: Variable and retain_graph
a = Variable(torch.ones(1, 4), requires_grad=True)
print(isinstance(a, Variable), isinstance(torch.ones(1), Variable), a)
b = a**2
c = b*2
d = c.mean()
e = c.sum()
d.backward(retain_graph=True)
e.backward(retain_graph=True)
d.backward()
error(lambda: e.backward())
print(a.grad, b, c, d, e)
# seed: a graph that keeps nothing
x = Variable(torch.ones(2, 3), requires_grad=True)
y = x.mean(dim=1).squeeze() + 3
z = y.pow(2).mean()
y.backward(torch.ones(2))
z.backward()
y.backward(torch.ones(2))
error(lambda: z.backward())
print(x.grad, y, z)
# seed: minimising
def fun(x):
    return x[0]**2 + (x[1]-1)**2
x = torch.tensor([1., 2.], requires_grad=True)
optimizer = torch.optim.SGD([x], lr=1, momentum=0.5)
for it in range(20):
    optimizer.zero_grad()
    y = fun(x)
    y.backward()
    optimizer.step()
    print(y.item(), x.detach().numpy())
# seed: a product through two equations
x = torch.tensor([[1., -1.], [2., 0.]], requires_grad=True)
y = 2 * x + 3
z = 4 * y - 1
print(y, z)
z.backward(torch.ones(2, 2))
print(x.grad)
"""
